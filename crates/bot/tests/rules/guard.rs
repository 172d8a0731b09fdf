//! Our rules for guards.

use cotan_ir::scalar::Op;

use crate::support::{Check, Spot, check, in_range, zeros};

pub fn checks() -> Vec<Check> {
    vec![
        check(
            "guard/read",
            |s| {
                let sh = s.shape_of_rank(1, 2);
                Ok((s.array(&sh)?, Spot::new(s, &sh)?, sh, s.choice(2) == 1))
            },
            |b, (t, spot, sh, lazily)| {
                let ix = spot.at(b)?;
                let mut inside = b.scalar(true)?;
                for (n, (&i, &k)) in ix.iter().zip(sh).enumerate() {
                    let here = in_range(b, i, k)?;
                    inside = if n == 0 { here } else { b.op(Op::And, &[inside, here])? };
                }
                let (read, zero) = (b.index(*t, &ix)?, b.scalar(0.0)?);
                if *lazily {
                    b.cond(inside, read, zero)
                } else {
                    b.op(Op::Select, &[inside, read, zero])
                }
            },
            |b, (t, spot, _, _)| {
                let ix = spot.at(b)?;
                b.index(*t, &ix)
            },
        ),
        check(
            "guard/nested",
            |s| {
                let (t, v) = (s.array(&[])?, s.array(&[])?);
                let bools = cotan_array::Dtype::Bool;
                Ok((s.array_of(bools, &[])?, s.array_of(bools, &[])?, t, v))
            },
            |b, &(g, h, t, v)| {
                let ty = b.ty(t).clone();
                let zero = zeros(b, &ty)?;
                let inner = b.op(Op::Select, &[h, t, zero])?;
                let both = b.op(Op::And, &[g, h])?;
                b.op(Op::Select, &[both, inner, v])
            },
            |b, &(g, h, t, v)| {
                let both = b.op(Op::And, &[g, h])?;
                b.op(Op::Select, &[both, t, v])
            },
        ),
    ]
}
