//! Sparsity: which elements of the results depend on which elements of the inputs.
//!
//! The Jacobian of $f$ has an entry at $(i, j)$ only where $y_i$ depends on $x_j$, and what depends on
//! what follows from the index functions of the bulk program. So the pattern is one more meaning of the
//! core language: `Dependence` is the algebra whose arrays hold, for each element, the set of inputs
//! it depends on. An operation unites the sets of its arguments, a sum those of its summands, and
//! everything that only moves elements moves the sets with them.
//!
//! The pattern never lacks an entry, and has one too many only where a choice or a factor depends on
//! the values of floats: both branches of `where(x > 0, ..)` count, `where(i < j, ..)` is decided.
//! Where positions themselves depend on arguments (a gather by an index array, an argmax), the pattern
//! holds for the arguments it was found at, and [`Dependences::decided_by`] tells which.

mod algebra;
mod rows;

use std::rc::Rc;

use cotan_array::Array;
use cotan_interp::Value;
use cotan_ir::{Error, Program, Result};

use crate::algebra::interpret;
use algebra::{Dependence, Dependent, Knowledge};
pub use rows::Rows;

/// The most entries that the pattern of one array may have unless told otherwise.
pub const DEFAULT_ENTRIES: usize = 1 << 27;

/// Which elements of the results of a program depend on which elements of some of its inputs.
#[derive(Clone, Debug)]
pub struct Dependences {
    /// For each result the rows of its elements. Columns number the elements of the inputs that were
    /// asked for, one input after the other.
    pub results: Vec<Rows>,
    /// The inputs whose values the pattern depends on.
    pub decided_by: Vec<bool>,
}

/// The dependences of a program without `build` on the elements of the inputs `wrt`, at the given
/// values of all inputs; at most `limit` of them for one array.
pub fn dependences(
    program: &Program,
    inputs: &[Array],
    wrt: &[usize],
    limit: usize,
) -> Result<Dependences> {
    let columns: usize = wrt.iter().map(|&k| inputs.get(k).map_or(0, |x| x.shape().numel())).sum();
    if u32::try_from(columns).is_err() {
        let message = format!("{columns} columns: a sparse derivative may have fewer than 2^32");
        return Err(Error::new(cotan_ir::ErrorKind::Limit, "sparse", message));
    }
    // Most patterns do not depend on the values of floats, which are then not computed.
    for knowledge in [Knowledge::Integers, Knowledge::Everything] {
        let mut algebra = Dependence::new(limit, knowledge, inputs.len());
        let mut first = 0;
        let mut arguments: Vec<Dependent> = Vec::with_capacity(inputs.len());
        for (k, x) in inputs.iter().enumerate() {
            arguments.push(algebra.input(k, Rc::new(Value::from(x))));
        }
        for &k in wrt {
            let len = inputs.get(k).map_or(0, |x| x.shape().numel());
            if let Some(argument) = arguments.get_mut(k) {
                argument.rows = Some(Rc::new(Rows::identity(first, len)));
            }
            first += len;
        }
        let results = interpret(program, &arguments, &mut algebra);
        if algebra.missed_a_value {
            continue;
        }
        let rows = results?.into_iter().map(|result| algebra.rows_of(&result));
        let results = rows.collect::<Result<Vec<Rows>>>()?;
        return Ok(Dependences { results, decided_by: algebra.decided_by() });
    }
    Err(Error::internal("a position is not known"))
}
