//! The kernels of this build, best first, and whether this CPU runs them.
//!
//! `TREEWIDE_KERNEL=NAME` makes any program that uses treewide hash with that one.

fn main() {
    for kernel in treewide::kernel::all() {
        let here = if kernel.is_supported() { "supported" } else { "not on this CPU" };
        println!("{:10} {:3} lanes  {here}", kernel.name(), kernel.degree());
    }
}
