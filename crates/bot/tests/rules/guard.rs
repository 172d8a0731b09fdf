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
        check(
            "guard/equal",
            |s| {
                let n = s.shape_of_rank(1, 1)[0];
                let spot = Spot::new(s, &[n])?;
                Ok((s.array(&[n])?, s.array(&[n])?, spot, n, s.choice(4)))
            },
            |b, (t, v, spot, n, form)| {
                let k = spot.at(b)?[0];
                b.build(*n, |b, i| {
                    let (at_i, other) = (b.index(*t, &[i])?, b.index(*v, &[i])?);
                    match form {
                        0 => {
                            let here = b.op(Op::Eq, &[i, k])?;
                            b.op(Op::Select, &[here, at_i, other])
                        }
                        1 => {
                            let here = b.op(Op::Eq, &[k, i])?;
                            b.cond(here, at_i, other)
                        }
                        2 => {
                            let elsewhere = b.op(Op::Ne, &[i, k])?;
                            b.op(Op::Select, &[elsewhere, other, at_i])
                        }
                        _ => {
                            let elsewhere = b.op(Op::Ne, &[k, i])?;
                            let here = b.op(Op::Not, &[elsewhere])?;
                            b.cond(here, at_i, other)
                        }
                    }
                })
            },
            |b, (t, v, spot, n, _)| {
                let k = spot.at(b)?[0];
                let at_k = b.index(*t, &[k])?;
                b.build(*n, |b, i| {
                    let (here, other) = (b.op(Op::Eq, &[i, k])?, b.index(*v, &[i])?);
                    b.op(Op::Select, &[here, at_k, other])
                })
            },
        ),
    ]
}
