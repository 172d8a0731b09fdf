//! Numerical routines: Cholesky factors and triangular systems are operations of StableHLO,
//! elimination is a loop over the columns.

use cotan_array::Dtype;
use cotan_ir::scalar::Scalar;
use cotan_ir::{Error, Result, Routine, TermId};

use crate::emit::Emitter;
use crate::value::{Ty, Val};

/// Which triangle.
#[derive(Clone, Copy)]
struct Triangle {
    lower: bool,
    unit: bool,
    /// Whether the system is that of the transpose; `lower` is about the matrix as it is.
    turned: bool,
}

impl Emitter<'_> {
    pub(crate) fn routine(&mut self, ty: &Ty, routine: Routine, ts: &[TermId]) -> Result<Val> {
        let operands = self.values(ts)?;
        let triangle = |lower, unit| Triangle { lower, unit, turned: false };
        let solved = match routine {
            Routine::Dft => return Ok(self.transformed(&operands[0], false)),
            Routine::DftConjugate => return Ok(self.transformed(&operands[0], true)),
            Routine::Cholesky => return Ok(self.cholesky(&operands[0])),
            Routine::LuFactors => return Ok(self.eliminated(&operands[0])?[0].clone()),
            Routine::LuRows => return Ok(self.eliminated(&operands[0])?[1].clone()),
            Routine::LuSolve => {
                let permuted = self.permuted(&operands[2], &operands[3], true);
                let y = self.substituted(&operands[1], &permuted, triangle(true, true));
                self.substituted(&operands[1], &y, triangle(false, false))
            }
            Routine::LuSolveTransposed => {
                let turned = |lower, unit| Triangle { lower, unit, turned: true };
                let y = self.substituted(&operands[1], &operands[3], turned(false, false));
                let x = self.substituted(&operands[1], &y, turned(true, true));
                self.permuted(&operands[2], &x, false)
            }
            Routine::QrQ
            | Routine::QrR
            | Routine::EighValues
            | Routine::EighVectors
            | Routine::SvdLeft
            | Routine::SvdValues
            | Routine::SvdRight => {
                let message = format!("StableHLO has no operation for `{}`", routine.name());
                let hint = "run the program here, or use cholesky, solve or inverse, which it has";
                return Err(Error::type_error("stablehlo", message).with_hint(hint));
            }
            // Its factors are of these routines.
            Routine::Pseudoinverse => {
                let message = "StableHLO has no operation for the singular values of `pinv`";
                return Err(Error::type_error("stablehlo", message));
            }
            Routine::SolveLower => {
                self.substituted(&operands[0], &operands[1], triangle(true, false))
            }
            Routine::SolveUpper => {
                self.substituted(&operands[0], &operands[1], triangle(false, false))
            }
            Routine::SolveUnitLower => {
                self.substituted(&operands[0], &operands[1], triangle(true, true))
            }
            Routine::SolveUnitUpper => {
                self.substituted(&operands[0], &operands[1], triangle(false, true))
            }
        };
        debug_assert_eq!(solved.ty.dims, ty.dims);
        Ok(solved)
    }

    /// The factor, all of it NaN if one of its elements is not finite.
    fn cholesky(&mut self, a: &Val) -> Val {
        let body = format!("stablehlo.cholesky {a}, lower = true : {}", a.ty);
        let w = &mut self.w;
        let factor = w.define(a.ty.clone(), body);
        let rank = a.ty.rank();
        let (i, j) = (w.iota(rank - 2, &a.ty.dims), w.iota(rank - 1, &a.ty.dims));
        let below = w.compare("GE", &i, &j);
        let zeros = w.zeros(&a.ty);
        let factor = w.select(&below, &factor, &zeros);
        let nothing = w.binary("multiply", &factor, &zeros);
        let nothing = w.sum(&nothing, &[rank - 2, rank - 1]);
        let axes: Vec<usize> = (0..rank - 2).collect();
        let nothing = w.broadcast(&nothing, &axes, &a.ty.dims);
        let checked = w.binary("add", &factor, &nothing);
        w.select(&below, &checked, &zeros)
    }

    /// The solutions of a triangular system; columns of zeros stay.
    fn substituted(&mut self, t: &Val, b: &Val, of: Triangle) -> Val {
        let transpose = if of.turned { "TRANSPOSE" } else { "NO_TRANSPOSE" };
        let body = format!(
            "\"stablehlo.triangular_solve\"({t}, {b}) <{{left_side = true, lower = {}, \
             unit_diagonal = {}, transpose_a = #stablehlo<transpose {transpose}>}}> : ({}, {}) -> {}",
            of.lower, of.unit, t.ty, b.ty, b.ty
        );
        let w = &mut self.w;
        let x = w.define(b.ty.clone(), body);
        let rank = b.ty.rank();
        let zeros = w.zeros(&b.ty);
        let counts = w.compare("NE", b, &zeros);
        let counts = w.convert(&counts, Dtype::I64);
        let counts = w.sum(&counts, &[rank - 2]);
        let axes: Vec<usize> = (0..rank - 2).chain([rank - 1]).collect();
        let counts = w.broadcast(&counts, &axes, &b.ty.dims);
        let none = w.zeros(&counts.ty.clone());
        let any = w.compare("NE", &counts, &none);
        w.select(&any, &x, &zeros)
    }

    /// The Fourier transform of numbers whose parts are the rows of matrices. The imaginary parts are
    /// negated before and after for the conjugate one.
    fn transformed(&mut self, z: &Val, conjugate: bool) -> Val {
        let rank = z.ty.rank();
        let dims = z.ty.dims.clone();
        let (n, w) = (dims[rank - 1], &mut self.w);
        if z.ty.dims.contains(&0) {
            return z.clone();
        }
        let outer: Vec<usize> = (0..rank - 2).chain([rank - 1]).collect();
        let part = z.ty.with_dims(&[&dims[..rank - 2], &[n]].concat());
        let row = w.iota(rank - 2, &dims);
        let zeros = w.zeros(&z.ty);
        let none = w.zeros(&row.ty.clone());
        let first = w.compare("EQ", &row, &none);
        let real = w.select(&first, z, &zeros);
        let real = w.sum(&real, &[rank - 2]);
        let imaginary = w.select(&first, &zeros, z);
        let mut imaginary = w.sum(&imaginary, &[rank - 2]);
        if conjugate {
            imaginary = w.unary("negate", &imaginary);
        }
        // Complex numbers are nowhere but here, so their type is written as text.
        let sizes: String = part.dims.iter().map(|k| format!("{k}x")).collect();
        let element = if part.dtype == Dtype::F32 { "f32" } else { "f64" };
        let complex = format!("tensor<{sizes}complex<{element}>>");
        let body = format!("stablehlo.complex {real}, {imaginary} : {complex}");
        let pair = w.define(part.clone(), body);
        let body =
            format!("stablehlo.fft {pair}, type = FFT, length = [{n}] : ({complex}) -> {complex}");
        let made = w.define(part.clone(), body);
        let real = w.define(part.clone(), format!("stablehlo.real {made} : ({complex}) -> {part}"));
        let body = format!("stablehlo.imag {made} : ({complex}) -> {part}");
        let mut imaginary = w.define(part, body);
        if conjugate {
            imaginary = w.unary("negate", &imaginary);
        }
        let real = w.broadcast(&real, &outer, &dims);
        let imaginary = w.broadcast(&imaginary, &outer, &dims);
        w.select(&first, &real, &imaginary)
    }

    /// The rows of matrices in the given order, or back from it.
    fn permuted(&mut self, rows: &Val, b: &Val, forth: bool) -> Val {
        let (rank, dims) = (b.ty.rank(), b.ty.dims.clone());
        let (n, columns, batch) = (dims[rank - 2], dims[rank - 1], &dims[..rank - 2]);
        // Places, sources, columns.
        let all = [batch, &[n, n, columns]].concat();
        let w = &mut self.w;
        let outer: Vec<usize> = (0..rank - 2).collect();
        let (place, source) = (rank - 2, rank - 1);
        let own = if forth { place } else { source };
        let chosen = w.broadcast(rows, &[&outer[..], &[own]].concat(), &all);
        let number = w.iota(if forth { source } else { place }, &all);
        let here = w.compare("EQ", &chosen, &number);
        let spread = w.broadcast(b, &[&outer[..], &[source, rank]].concat(), &all);
        let zeros = w.zeros(&spread.ty.clone());
        let kept = w.select(&here, &spread, &zeros);
        w.sum(&kept, &[source])
    }

    /// Gauss with row pivots: the factors, and the order of the rows.
    fn eliminated(&mut self, a: &Val) -> Result<Vec<Val>> {
        let (rank, dims) = (a.ty.rank(), a.ty.dims.clone());
        let (n, outer) = (dims[rank - 1], (0..rank - 2).collect::<Vec<usize>>());
        let vector = dims[..rank - 1].to_vec();
        let rows = self.w.iota(rank - 2, &vector);
        self.repeated(n, &[a.clone(), rows], |e, k, states| {
            let (a, rows) = (&states[0], &states[1]);
            let w = &mut e.w;
            let (i, j) = (w.iota(rank - 2, &dims), w.iota(rank - 1, &dims));
            let at = w.broadcast(k, &[], &dims);
            let (in_column, in_row) = (w.compare("EQ", &j, &at), w.compare("EQ", &i, &at));
            let zeros = w.zeros(&a.ty.clone());
            // The first of the largest that are left in the column.
            let column = w.select(&in_column, a, &zeros);
            let column = w.sum(&column, &[rank - 1]);
            let own = w.iota(rank - 2, &vector);
            let at_vector = w.broadcast(k, &[], &vector);
            let left = w.compare("GE", &own, &at_vector);
            let size = w.unary("abs", &column);
            let none = w.real(-1.0, &size);
            let size = w.select(&left, &size, &none);
            let least = w.fill(lowest(size.ty.dtype), &[]);
            let best = w.reduce("maximum", &size, &least, &[rank - 2]);
            let best = w.broadcast(&best, &outer, &vector);
            let chosen = w.compare("EQ", &size, &best);
            let after = w.fill(Scalar::I64(n as i64), &vector);
            let places = w.select(&chosen, &own, &after);
            let end = w.fill(Scalar::I64(n as i64), &[]);
            let pivot = w.reduce("minimum", &places, &end, &[rank - 2]);
            // With NaN nothing is the largest.
            let end = w.fill(Scalar::I64(n as i64), &pivot.ty.dims.clone());
            let found = w.compare("LT", &pivot, &end);
            let first = w.broadcast(k, &[], &pivot.ty.dims.clone());
            let pivot = w.select(&found, &pivot, &first);
            // The two rows change places.
            let pivot_vector = w.broadcast(&pivot, &outer, &vector);
            let is_pivot = w.compare("EQ", &own, &pivot_vector);
            let is_first = w.compare("EQ", &own, &at_vector);
            let no_rows = w.zeros(&rows.ty.clone());
            let taken = w.select(&is_pivot, rows, &no_rows);
            let taken = w.sum(&taken, &[rank - 2]);
            let taken = w.broadcast(&taken, &outer, &vector);
            let given = w.select(&is_first, rows, &no_rows);
            let given = w.sum(&given, &[rank - 2]);
            let given = w.broadcast(&given, &outer, &vector);
            let next_rows = w.select(&is_pivot, &given, rows);
            let next_rows = w.select(&is_first, &taken, &next_rows);
            let pivot_matrix = w.broadcast(&pivot, &outer, &dims);
            let in_pivot = w.compare("EQ", &i, &pivot_matrix);
            let along: Vec<usize> = outer.iter().copied().chain([rank - 1]).collect();
            let taken = w.select(&in_pivot, a, &zeros);
            let taken = w.sum(&taken, &[rank - 2]);
            let taken = w.broadcast(&taken, &along, &dims);
            let given = w.select(&in_row, a, &zeros);
            let given = w.sum(&given, &[rank - 2]);
            let given = w.broadcast(&given, &along, &dims);
            let swapped = w.select(&in_pivot, &given, a);
            let swapped = w.select(&in_row, &taken, &swapped);
            // The pivot's column divided by it, and its row subtracted from those below.
            let head = w.select(&in_column, &taken, &zeros);
            let head = w.sum(&head, &[rank - 1]);
            let column = w.select(&in_column, &swapped, &zeros);
            let column = w.sum(&column, &[rank - 1]);
            let factor = w.binary("divide", &column, &head);
            let down: Vec<usize> = (0..rank - 1).collect();
            let factor = w.broadcast(&factor, &down, &dims);
            let product = w.binary("multiply", &factor, &taken);
            let less = w.binary("subtract", &swapped, &product);
            let (below, right) = (w.compare("GT", &i, &at), w.compare("GT", &j, &at));
            let inner = w.binary("and", &below, &right);
            let next = w.select(&inner, &less, &swapped);
            let edge = w.binary("and", &below, &in_column);
            let next = w.select(&edge, &factor, &next);
            Ok(vec![next, next_rows])
        })
    }
}

/// Less than every absolute value.
fn lowest(dtype: Dtype) -> Scalar {
    match dtype {
        Dtype::F32 => Scalar::F32(-2.0),
        _ => Scalar::F64(-2.0),
    }
}
