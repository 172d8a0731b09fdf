//! Elementwise operations, and guards for the partial ones.

use cotan_array::Array;
use cotan_ir::scalar::{Domain, Op};
use cotan_ir::{Result, TermId, Type};

use super::{Generator, TypedOp};
use cotan_array::Dtype;

/// Ring operations and selection come up more often than others.
fn weight(row: &TypedOp) -> usize {
    match row.op {
        Op::Add | Op::Sub | Op::Mul => 6,
        Op::Neg | Op::Select => 3,
        _ => 1,
    }
}

impl Generator<'_> {
    /// An operation whose result has a type.
    pub(super) fn operation(&mut self, ty: &Type, size: usize) -> Result<TermId> {
        let rows: Vec<&TypedOp> =
            self.config.ops.iter().filter(|row| row.result == ty.dtype).collect();
        let Some(chosen) = self.rng.weighted(rows.iter().map(|row| weight(row))) else {
            return self.leaf(ty);
        };
        let row = rows[chosen];
        let parts = self.split(size, row.args.len());
        let mut args = Vec::with_capacity(row.args.len());
        for (&dtype, part) in row.args.iter().zip(parts) {
            args.push(self.term(&Type::new(dtype, ty.shape.clone()), part)?);
        }
        self.guarded(row, args)
    }

    /// The operation, its arguments brought into its domain: always when the result must be smooth,
    /// otherwise half of the time.
    fn guarded(&mut self, row: &TypedOp, mut args: Vec<TermId>) -> Result<TermId> {
        let partial = |domain: Domain| !matches!(domain, Domain::Any | Domain::BetweenSteps);
        for (n, &domain) in row.op.row().domains.iter().enumerate() {
            let dtype = row.args[n];
            if domain == Domain::SmallNatural && (self.config.smooth || self.rng.chance(50)) {
                let order = self.rng.between(0, 3);
                let shape = self.b.shape(args[n]).clone();
                args[n] = self.b.constant(&Array::full(shape, order)?)?;
            } else if partial(domain) && dtype.is_float() && self.config.smooth {
                args[n] = self.smoothly_into(domain, args[n])?;
            } else if partial(domain) && dtype.is_float() && self.rng.chance(50) {
                return self.guard(row, args, n, domain);
            }
        }
        self.b.op(row.op, &args)
    }

    /// `op(where(ok, a, safe))` or `where(ok, op(a), 0)`; with `cond` for scalars sometimes.
    fn guard(
        &mut self,
        row: &TypedOp,
        mut args: Vec<TermId>,
        n: usize,
        domain: Domain,
    ) -> Result<TermId> {
        let a = args[n];
        let (op, bound, safe) = match domain {
            Domain::Positive => (Op::Gt, 0.0, 1.0),
            Domain::Unit => (Op::Lt, 1.0, 0.5),
            Domain::AboveOne => (Op::Gt, 1.0, 2.0),
            Domain::NonZero | Domain::Any | Domain::BetweenSteps | Domain::SmallNatural => {
                (Op::Ne, 0.0, 1.0)
            }
        };
        let dtype = row.args[n];
        if !self.config.allows(op, &[dtype, dtype]) {
            return self.b.op(row.op, &args);
        }
        let bound = self.full_like(a, bound)?;
        let ok = self.b.op(op, &[a, bound])?;
        if self.rng.chance(50) {
            let safe = self.full_like(a, safe)?;
            args[n] = self.choose(ok, a, safe)?;
            return self.b.op(row.op, &args);
        }
        let y = self.b.op(row.op, &args)?;
        let zero = self.full_like(y, 0.0)?;
        self.choose(ok, y, zero)
    }

    fn choose(&mut self, ok: TermId, a: TermId, b: TermId) -> Result<TermId> {
        let types = [Dtype::Bool, self.b.dtype(a), self.b.dtype(b)];
        let scalar = self.b.shape(ok).rank() == 0;
        if !self.config.allows(Op::Select, &types) {
            return Ok(a);
        }
        if scalar && self.rng.chance(50) {
            self.b.cond(ok, a, b)
        } else {
            self.b.op(Op::Select, &[ok, a, b])
        }
    }

    /// A smooth function of `a` whose values lie in a domain, away from its edges.
    fn smoothly_into(&mut self, domain: Domain, a: TermId) -> Result<TermId> {
        let (scale, offset) = match domain {
            // 0.5 sin a
            Domain::Unit => {
                let (half, s) = (self.full_like(a, 0.5)?, self.b.op(Op::Sin, &[a])?);
                return self.b.op(Op::Mul, &[half, s]);
            }
            Domain::AboveOne => (0.25, 1.5),
            Domain::Positive | Domain::NonZero | Domain::Any => (0.25, 0.5),
            Domain::BetweenSteps | Domain::SmallNatural => return Ok(a),
        };
        // offset + scale (1 + cos a): bounded, so that towers of these stay moderate
        let (one, cos) = (self.full_like(a, 1.0)?, self.b.op(Op::Cos, &[a])?);
        let raised = self.b.op(Op::Add, &[one, cos])?;
        let (scale, offset) = (self.full_like(a, scale)?, self.full_like(a, offset)?);
        let scaled = self.b.op(Op::Mul, &[scale, raised])?;
        self.b.op(Op::Add, &[scaled, offset])
    }

    /// A constant of the type of `t`, all of whose elements are `x`.
    pub(super) fn full_like(&mut self, t: TermId, x: f64) -> Result<TermId> {
        let ty = self.b.ty(t).clone();
        self.b.constant(&Array::full(ty.shape, x)?.cast(ty.dtype)?)
    }
}
