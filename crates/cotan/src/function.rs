//! Functions of arrays: what can be compiled and differentiated.

use crate::error::Result;
use crate::structure::{Arrays, Tree};

/// A function of staged arrays: a Rust function or closure of up to eight structures of arrays to a
/// structure, or to a `Result` of one; or what [`grad`](crate::grad) and its relatives make of such.
///
/// `M` tells the ways of being a function apart and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a function of arrays",
    label = "an argument or the result is not made of arrays; is a struct without \
             `#[derive(Arrays)]` among them?",
    note = "functions take one to eight arguments and give a result, each of which is an `Arr`, or \
            a tuple, a `Vec`, an `Option`, an array or a struct (with `#[derive(Arrays)]`) of such; \
            the result may also be a `Result` of one"
)]
pub trait Function<M> {
    /// The arguments: the argument of a function of one, a tuple of several.
    type Args: Arrays;
    /// The result.
    type Out: Arrays;
    /// Whether the arguments are a tuple of several.
    const SEVERAL: bool;

    /// The function at arguments.
    fn apply(&self, args: Self::Args) -> Result<Self::Out>;
}

/// Says the type of argument `N` of the functions that a marker stands for.
#[diagnostic::on_unimplemented(
    message = "the function has no argument {N}",
    label = "there is no argument {N}",
    note = "arguments count from 0: the first is `Arg::<0>`"
)]
pub trait HasArg<const N: usize> {
    /// The argument.
    type Arg: Arrays;
}

/// What functions give: a structure, or a `Result` of one.
///
/// One trait for both, so that there is one way for a closure to be a function: the compiler then asks
/// for the types of its arguments where they are missing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the result of a function of arrays",
    label = "neither made of arrays nor a `Result` of such",
    note = "functions give an `Arr`, or a tuple, a `Vec`, an `Option`, an array or a struct (with \
            `#[derive(Arrays)]`) of such, or a `cotan::Result` of one"
)]
pub trait Outcome {
    /// The structure.
    type Structure: Arrays;

    /// The structure, or why there is none.
    fn outcome(self) -> Result<Self::Structure>;
}

impl<A: Arrays> Outcome for A {
    type Structure = A;

    fn outcome(self) -> Result<A> {
        Ok(self)
    }
}

impl<A: Arrays> Outcome for Result<A> {
    type Structure = A;

    fn outcome(self) -> Result<A> {
        self
    }
}

macro_rules! functions {
    (@unpack false $args:ident, $a:ident) => { let $a = $args; };
    (@unpack true $args:ident, $($a:ident)+) => { let ($($a,)+) = $args; };
    ($($several:tt $args:ty: $($a:ident $n:literal),+;)*) => { $(
        impl<Func, $($a,)+ R> Function<fn($($a),+) -> R> for Func
        where
            Func: Fn($($a),+) -> R,
            $($a: Arrays,)+
            R: Outcome,
        {
            type Args = $args;
            type Out = R::Structure;
            const SEVERAL: bool = $several;

            #[allow(non_snake_case, reason = "arguments are named as their types")]
            fn apply(&self, args: $args) -> Result<R::Structure> {
                functions!(@unpack $several args, $($a)+);
                self($($a),+).outcome()
            }
        }
    )* };
}

functions! {
    false A: A 0;
    true (A, B): A 0, B 1;
    true (A, B, C): A 0, B 1, C 2;
    true (A, B, C, D): A 0, B 1, C 2, D 3;
    true (A, B, C, D, E): A 0, B 1, C 2, D 3, E 4;
    true (A, B, C, D, E, F): A 0, B 1, C 2, D 3, E 4, F 5;
    true (A, B, C, D, E, F, G): A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    true (A, B, C, D, E, F, G, H): A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
}

macro_rules! arguments {
    ($($n:literal $arg:ident: ($($a:ident),+);)*) => { $(
        #[diagnostic::do_not_recommend]
        impl<$($a: Arrays,)+ R> HasArg<$n> for fn($($a),+) -> R {
            type Arg = $arg;
        }
    )* };
}

arguments! {
    0 A: (A);
    0 A: (A, B); 1 B: (A, B);
    0 A: (A, B, C); 1 B: (A, B, C); 2 C: (A, B, C);
    0 A: (A, B, C, D); 1 B: (A, B, C, D); 2 C: (A, B, C, D); 3 D: (A, B, C, D);
    0 A: (A, B, C, D, E); 1 B: (A, B, C, D, E); 2 C: (A, B, C, D, E); 3 D: (A, B, C, D, E);
    4 E: (A, B, C, D, E);
    0 A: (A, B, C, D, E, F); 1 B: (A, B, C, D, E, F); 2 C: (A, B, C, D, E, F);
    3 D: (A, B, C, D, E, F); 4 E: (A, B, C, D, E, F); 5 F: (A, B, C, D, E, F);
    0 A: (A, B, C, D, E, F, G); 1 B: (A, B, C, D, E, F, G); 2 C: (A, B, C, D, E, F, G);
    3 D: (A, B, C, D, E, F, G); 4 E: (A, B, C, D, E, F, G); 5 F: (A, B, C, D, E, F, G);
    6 G: (A, B, C, D, E, F, G);
    0 A: (A, B, C, D, E, F, G, H); 1 B: (A, B, C, D, E, F, G, H); 2 C: (A, B, C, D, E, F, G, H);
    3 D: (A, B, C, D, E, F, G, H); 4 E: (A, B, C, D, E, F, G, H); 5 F: (A, B, C, D, E, F, G, H);
    6 G: (A, B, C, D, E, F, G, H); 7 H: (A, B, C, D, E, F, G, H);
}

/// Argument `N` of a function, from 0, as something to differentiate by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arg<const N: usize>;

/// All arguments of a function, as something to differentiate by.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllArgs;

/// The arguments by which a derivative is taken: [`Arg`], [`AllArgs`], or a tuple of `Arg`s.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name arguments of the function",
    label = "write `Arg::<0>`, a tuple such as `(Arg::<0>, Arg::<2>)`, or `AllArgs`",
    note = "the argument by which a derivative is taken decides its type, so it is chosen by a type: \
            `grad(f).wrt(Arg::<1>)`"
)]
pub trait Choice<F: Function<M>, M> {
    /// What they are: an argument, or a tuple of several.
    type Point: Arrays;

    /// Their tree, and which leaves of the arguments they are, in order.
    fn of(args: &Tree) -> (Tree, Vec<usize>);
}

impl<F: Function<M>, M> Choice<F, M> for AllArgs {
    type Point = F::Args;

    fn of(args: &Tree) -> (Tree, Vec<usize>) {
        (args.clone(), (0..args.leaf_count()).collect())
    }
}

impl<F: Function<M>, M: HasArg<N>, const N: usize> Choice<F, M> for Arg<N> {
    type Point = M::Arg;

    fn of(args: &Tree) -> (Tree, Vec<usize>) {
        if !F::SEVERAL {
            return <AllArgs as Choice<F, M>>::of(args);
        }
        let count = |k: usize| args.part(k).map_or(0, Tree::leaf_count);
        let begin: usize = (0..N).map(count).sum();
        let tree = args.part(N).cloned().unwrap_or_else(|| Tree::numbered([]));
        (tree, (begin..begin + count(N)).collect())
    }
}

macro_rules! choices {
    ($(($($c:ident),+))*) => { $(
        #[diagnostic::do_not_recommend]
        impl<F: Function<M>, M, $($c: Choice<F, M>),+> Choice<F, M> for ($($c,)+) {
            type Point = ($($c::Point,)+);

            fn of(args: &Tree) -> (Tree, Vec<usize>) {
                let parts = [$($c::of(args)),+];
                let leaves = parts.iter().flat_map(|(_, leaves)| leaves.clone()).collect();
                (Tree::numbered(parts.into_iter().map(|(tree, _)| tree)), leaves)
            }
        }
    )* };
}

choices! { (A) (A, B) (A, B, C) (A, B, C, D) }
