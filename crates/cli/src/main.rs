//! The cotan command.

fn main() {}
