//! Where nests are run only for a part of their rows.

use cotan_array::Dtype;
use cotan_nest::Component;

use super::*;

const N: usize = 40;

/// The buffer that nests hand to each other.
const BETWEEN: BufferId = BufferId(1);

/// A nest over all pairs $(i, j)$.
fn nest(reduced: usize, body: &[(Instr, Dtype)], target: u32, write: Write) -> GroupItem {
    let (instrs, dtypes): (Vec<_>, Vec<_>) = body.iter().cloned().unzip();
    let value = Val(instrs.len() as u32 - 1);
    let target = BufferId(target);
    let (extents, also) = (vec![N, N], Vec::new());
    GroupItem::Nest(Nest {
        extents,
        reduced,
        instrs,
        dtypes,
        value,
        target,
        write,
        also,
        source: None,
    })
}

fn form(constant: i64, coeffs: [i64; 2]) -> Affine {
    Affine { constant, coeffs: coeffs.into_iter().collect() }
}

fn load(buffer: BufferId, at: Affine) -> (Instr, Dtype) {
    (Instr::Load { buffer, at, checks: Vec::new() }, Dtype::F64)
}

fn index(form: Affine) -> (Instr, Dtype) {
    (Instr::Affine(form), Dtype::I64)
}

/// Every pair.
fn everywhere() -> Affine {
    form(0, [N as i64, 1])
}

/// Stores something for every pair.
fn stores_all() -> GroupItem {
    let at = everywhere();
    nest(0, &[load(BufferId(0), form(0, [0, 1]))], BETWEEN.0, Write::Store(at))
}

/// Sums over $j$ what is read where `i + shift` compares with $j$ like this.
fn sums_where(op: Op, shift: i64, read: (Instr, Dtype)) -> GroupItem {
    let body = [
        index(form(shift, [1, 0])),
        index(form(0, [0, 1])),
        (Instr::Op(op, [Val(0), Val(1)].into_iter().collect()), Dtype::Bool),
        read,
        (Instr::Const(0), Dtype::F64),
        (Instr::Op(Op::Select, [Val(2), Val(3), Val(4)].into_iter().collect()), Dtype::F64),
    ];
    nest(1, &body, 2, Write::Sum(form(0, [1, 0])))
}

fn sums_all() -> GroupItem {
    nest(1, &[load(BETWEEN, everywhere())], 2, Write::Sum(form(0, [1, 0])))
}

/// The wedges of what stores all pairs, and of nests that follow it.
fn wedges_with(readers: Vec<GroupItem>) -> Vec<Option<Wedge>> {
    let items: Vec<Shared> =
        std::iter::once(stores_all()).chain(readers).map(|item| (item, 0)).collect();
    wedges(&items, &FxHashSet::from_iter([BETWEEN]), &FxHashSet::default())
}

fn above(shift: i64) -> Option<Wedge> {
    Some(Wedge { dim: 1, extent: N, above: true, shift })
}

fn below(shift: i64) -> Option<Wedge> {
    Some(Wedge { dim: 1, extent: N, above: false, shift })
}

#[test]
fn what_is_made_is_needed_where_its_reader_goes() {
    let reader = |op, shift| vec![sums_where(op, shift, load(BETWEEN, everywhere()))];
    assert_eq!(wedges_with(reader(Op::Lt, 0)), [above(1); 2]);
    assert_eq!(wedges_with(reader(Op::Le, 3)), [above(3); 2]);
    assert_eq!(wedges_with(reader(Op::Gt, 0)), [below(1); 2]);
    assert_eq!(wedges_with(reader(Op::Ge, -2)), [below(2); 2]);
    assert_eq!(wedges_with(reader(Op::Ne, 0)), [None; 2]);
}

#[test]
fn readers_that_agree_share_a_wedge() {
    let reader = |op, shift| sums_where(op, shift, load(BETWEEN, everywhere()));
    assert_eq!(wedges_with(vec![reader(Op::Lt, 0), reader(Op::Le, 1)]), [above(1); 3]);
}

#[test]
fn readers_that_disagree_need_everything() {
    let reader = |op, shift| sums_where(op, shift, load(BETWEEN, everywhere()));
    let both = |a: (Op, i64), b: (Op, i64)| wedges_with(vec![reader(a.0, a.1), reader(b.0, b.1)]);
    assert_eq!(both((Op::Lt, 0), (Op::Gt, 0)), [None, above(1), below(1)]);
    assert_eq!(both((Op::Gt, 0), (Op::Lt, 0)), [None, below(1), above(1)]);
    // One position more.
    assert_eq!(both((Op::Lt, 0), (Op::Le, 0)), [None, above(1), above(0)]);
    assert_eq!(both((Op::Le, 0), (Op::Lt, 0)), [None, above(0), above(1)]);
    // Of three the one in the middle differs: that two others agree does not help.
    let three = vec![reader(Op::Lt, 0), reader(Op::Gt, 0), reader(Op::Lt, 0)];
    assert_eq!(wedges_with(three), [None, above(1), below(1), above(1)]);
}

#[test]
fn a_reader_of_everything_needs_everything() {
    let some = || sums_where(Op::Lt, 0, load(BETWEEN, everywhere()));
    assert_eq!(wedges_with(vec![some(), sums_all()]), [None, above(1), None]);
    assert_eq!(wedges_with(vec![sums_all(), some()]), [None, None, above(1)]);
}

#[test]
fn readers_at_other_places_need_everything() {
    // At computed places, or along the other axis.
    let component = Component { value: Val(1), size: N, stride: 1 };
    let computed = Instr::LoadAt { buffer: BETWEEN, index: vec![component] };
    let reader = sums_where(Op::Lt, 0, (computed, Dtype::F64));
    assert_eq!(wedges_with(vec![reader]), [None, above(1)]);
    let reader = sums_where(Op::Lt, 0, load(BETWEEN, form(0, [1, N as i64])));
    assert_eq!(wedges_with(vec![reader]), [None, above(1)]);
}

#[test]
fn what_others_may_read_is_made_everywhere() {
    let items =
        [stores_all(), sums_where(Op::Lt, 0, load(BETWEEN, everywhere()))].map(|item| (item, 0));
    assert_eq!(wedges(&items, &FxHashSet::default(), &FxHashSet::default()), [None, above(1)]);
}

/// Of all panels, the one that leaves out the most without leaving out what counts.
#[test]
fn panels_have_what_counts() {
    for (extent, count) in [1, 5, 16, 40, 255, 256, 300].map(|n| [(n, 4), (n, 16)]).concat() {
        for (above, shift) in [-3, 0, 1, 20, 400].map(|s| [(true, s), (false, s)]).concat() {
            let wedge = Wedge { dim: 1, extent, above, shift };
            let panels = wedge.panels(PanelShape { count, most: 16, line: 16 });
            assert!(panels[0] == 0 && panels.is_sorted() && *panels.last().unwrap() < extent);
            let lines = extent < 16 * 16 || panels.iter().all(|n| n % 16 == 0);
            assert!(lines && panels.len() <= count, "{panels:?}");
            let many = extent < count || panels.len() >= count;
            assert!(many, "{panels:?} of {extent}");
            for rows in [(0, 1), (0, 7), (3, 4), (5, 12), (39, 40), (17, 300), (299, 300)] {
                let rows = rows.0..rows.1;
                let counts = |j: usize| {
                    rows.clone().any(|i| match above {
                        true => j as i64 >= i as i64 + shift,
                        false => j as i64 <= i as i64 - shift,
                    })
                };
                let kept = |left_out: usize| match above {
                    true => left_out..extent,
                    false => 0..extent - left_out,
                };
                let whole = |left_out: usize| {
                    let kept = kept(left_out);
                    (0..extent).all(|j| kept.contains(&j) || !counts(j))
                };
                let chosen = wedge.panel(&panels, &rows);
                assert!(whole(panels[chosen]), "{wedge:?} {rows:?}: {chosen} of {panels:?}");
                let next = panels.get(chosen + 1);
                assert!(next.is_none_or(|&n| !whole(n)), "{wedge:?} {rows:?}: {chosen}");
            }
        }
    }
}
