//! Fields of structs that are not what they have to be.

use cotan::prelude::*;

#[derive(Arrays)]
struct Unmarked<A> {
    w: A,
    steps: usize,
}

#[derive(Clone, Debug, PartialEq)]
struct Opaque;

#[derive(Arrays)]
struct Unshown<A> {
    w: A,
    #[arrays(skip)]
    secret: Opaque,
}

type Matrix = Arr<f64>;

#[derive(Arrays)]
struct Alias<A> {
    w: A,
    other: Matrix,
}

fn main() {}
