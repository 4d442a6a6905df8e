//! The example, on every device that is here, and what is said of it.

#[path = "../examples/chained.rs"]
mod chained;
mod common;

#[test]
fn chained_gives_the_same_root_on_every_device() {
    common::each(|device| {
        for count in [1, 2, 1000, 5000] {
            chained::run(device, count).unwrap();
        }
    });
}
