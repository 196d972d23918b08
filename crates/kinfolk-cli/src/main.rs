//! The command line of Kinfolk, filled in the next commits.
fn main() {}
