//! Placeholder, filled in the next commits.
