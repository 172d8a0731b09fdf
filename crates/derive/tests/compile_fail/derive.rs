//! Structs that cannot be structures of arrays, as the macro says itself.

use cotan::prelude::*;

#[derive(Arrays)]
enum Choice<A> {
    One(A),
    Two(A, A),
}

#[derive(Arrays)]
union Either<A: Copy> {
    a: A,
}

#[derive(Arrays)]
struct Borrowed<'a, A> {
    w: A,
    #[arrays(skip)]
    name: &'a str,
}

#[derive(Arrays)]
struct Fixed {
    w: Arr<f64>,
}

#[derive(Arrays)]
struct Elements<T> {
    w: Vec<Tensor<T>>,
}

#[derive(Arrays)]
struct Bounded<A: Clone> {
    w: A,
}

#[derive(Arrays)]
struct Where<A>
where
    A: Arrays + Copy,
{
    w: A,
}

#[derive(Arrays)]
struct Skipped<A> {
    w: A,
    #[arrays(skip)]
    last: Option<A>,
}

#[derive(Arrays)]
struct Unknown<A> {
    #[arrays(ignore)]
    w: A,
}

#[derive(Arrays)]
#[arrays(skip)]
struct OnStruct<A> {
    w: A,
}

#[derive(Arrays)]
struct OnField<A> {
    #[arrays(crate = cotan)]
    w: A,
}

fn main() {}
