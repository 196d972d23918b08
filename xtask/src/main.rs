//! The project's own tool, filled in the next commits.
fn main() {}
