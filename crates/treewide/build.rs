//! Says which kernels are left out, as cfgs: `without = "avx512"` and others. The features `no_avx512` and so on ask for that,
//! as in `blake3`. Without optimisation, for which the cfg is `unoptimised`, kernels that are not assembly are left out too.

const SETS: [&str; 5] = ["avx512", "avx2", "sse41", "sse2", "neon"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(unoptimised)");
    println!(
        "cargo::rustc-check-cfg=cfg(without, values({}))",
        SETS.map(|it| format!("{it:?}")).join(", ")
    );
    let has =
        |name: &str| std::env::var_os(format!("CARGO_FEATURE_{}", name.to_uppercase())).is_some();
    let unoptimised = std::env::var("OPT_LEVEL").is_ok_and(|level| level == "0");
    if unoptimised {
        println!("cargo::rustc-cfg=unoptimised");
    }
    // `neon` with `no_neon` asks for nothing: that is `--all-features`.
    let asked = !(has("neon") && has("no_neon"));
    for set in SETS {
        if asked && has(&format!("no_{set}")) || unoptimised && ["avx512", "sse2"].contains(&set) {
            println!("cargo::rustc-cfg=without={set:?}");
        }
    }
}
