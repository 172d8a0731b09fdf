//! Ways to spoil a plan. Each changes it at a random place, and says whether there was one.

use cotan_array::{Dtype, Shape};
use cotan_ir::scalar::Op;
use cotan_nest::{
    Affine, Also, BufferId, Draft, Instr, Loop, Nest, Plan, Role, RoutineStep, Step, Val, Write,
};
use cotan_testkit::Rng;
use smallvec::smallvec;

pub struct Mutation {
    pub name: &'static str,
    pub apply: fn(&mut Plan, &mut Rng) -> bool,
}

type Steps = Vec<Step<Nest>>;

/// Calls `f` with every list of steps, until it says that it has done something.
fn any_list(steps: &mut Steps, f: &mut dyn FnMut(&mut Steps) -> bool) -> bool {
    if f(steps) {
        return true;
    }
    steps.iter_mut().any(|step| match step {
        Step::Loop(l) => any_list(&mut l.steps, f),
        Step::While(w) => any_list(&mut w.before, f) || any_list(&mut w.body.steps, f),
        Step::If(b) => any_list(&mut b.then, f) || any_list(&mut b.otherwise, f),
        _ => false,
    })
}

/// Changes one of the things that `f` can change: it is asked with the number of those to leave out.
fn one(
    plan: &mut Plan,
    rng: &mut Rng,
    f: &mut dyn FnMut(&mut Plan, &mut usize, bool) -> bool,
) -> bool {
    let mut left = usize::MAX;
    f(plan, &mut left, false);
    let sites = usize::MAX - left;
    if sites == 0 {
        return false;
    }
    let mut left = rng.below(sites);
    f(plan, &mut left, true)
}

/// Changes one of the steps for which `fits` holds.
fn step(
    plan: &mut Plan,
    rng: &mut Rng,
    fits: fn(&Step<Nest>) -> bool,
    change: &mut dyn FnMut(&mut Steps, usize),
) -> bool {
    one(plan, rng, &mut |plan, left, really| {
        any_list(&mut plan.steps, &mut |steps| {
            for n in 0..steps.len() {
                if !fits(&steps[n]) {
                    continue;
                }
                if really && *left == 0 {
                    change(steps, n);
                    return true;
                }
                *left -= 1;
            }
            false
        })
    })
}

/// Changes one of the nests for which `fits` holds.
fn nest(
    plan: &mut Plan,
    rng: &mut Rng,
    fits: fn(&Nest) -> bool,
    change: &mut dyn FnMut(&mut Nest),
) -> bool {
    one(plan, rng, &mut |plan, left, really| {
        any_list(&mut plan.steps, &mut |steps| {
            for step in steps {
                let Step::Compute(nest) = step else { continue };
                if !fits(nest) {
                    continue;
                }
                if really && *left == 0 {
                    change(nest);
                    return true;
                }
                *left -= 1;
            }
            false
        })
    })
}

/// Changes one of the instructions for which `fits` holds.
fn instr(
    plan: &mut Plan,
    rng: &mut Rng,
    fits: fn(&Instr) -> bool,
    change: &mut dyn FnMut(&mut Instr, &mut Dtype),
) -> bool {
    one(plan, rng, &mut |plan, left, really| {
        any_list(&mut plan.steps, &mut |steps| {
            for step in steps {
                let Step::Compute(nest) = step else { continue };
                for (instr, dtype) in nest.instrs.iter_mut().zip(&mut nest.dtypes) {
                    if !fits(instr) {
                        continue;
                    }
                    if really && *left == 0 {
                        change(instr, dtype);
                        return true;
                    }
                    *left -= 1;
                }
            }
            false
        })
    })
}

fn any(_: &Nest) -> bool {
    true
}

fn has_place(nest: &Nest) -> bool {
    nest.write.place().is_some_and(|at| !at.coeffs.is_empty())
}

fn is_load(instr: &Instr) -> bool {
    matches!(instr, Instr::Load { .. })
}

fn is_guarded(instr: &Instr) -> bool {
    matches!(instr, Instr::Load { checks, .. } if !checks.is_empty())
}

fn is_computed(instr: &Instr) -> bool {
    matches!(instr, Instr::LoadAt { index, .. } if !index.is_empty())
}

fn is_nest(step: &Step<Nest>) -> bool {
    matches!(step, Step::Compute(_))
}

fn is_copy(step: &Step<Nest>) -> bool {
    matches!(step, Step::Copy { .. })
}

fn place(nest: &mut Nest, change: impl FnOnce(&mut Affine)) {
    if let Some(at) = nest.write.place_mut() {
        change(at);
    }
}

fn load(plan: &mut Plan, rng: &mut Rng, change: &mut dyn FnMut(&mut Affine)) -> bool {
    instr(plan, rng, is_load, &mut |instr, _| {
        if let Instr::Load { at, .. } = instr {
            change(at);
        }
    })
}

fn buffer(plan: &Plan, rng: &mut Rng) -> BufferId {
    BufferId(rng.below(plan.buffers.len().max(1)) as u32)
}

fn of_role(plan: &Plan, rng: &mut Rng, fits: fn(&Role) -> bool) -> Option<BufferId> {
    let fits = |n: &usize| fits(&plan.buffers[*n].role);
    let all: Vec<usize> = (0..plan.buffers.len()).filter(fits).collect();
    if all.is_empty() { None } else { Some(BufferId(*rng.pick(&all) as u32)) }
}

/// Changes one of the loops for which `fits` holds.
fn looped(
    plan: &mut Plan,
    rng: &mut Rng,
    fits: fn(&Loop<Nest>) -> bool,
    change: &mut dyn FnMut(&mut Loop<Nest>),
) -> bool {
    one(plan, rng, &mut |plan, left, really| {
        any_list(&mut plan.steps, &mut |steps| {
            for step in steps {
                let l = match step {
                    Step::Loop(l) => &mut **l,
                    Step::While(w) => &mut w.body,
                    _ => continue,
                };
                if !fits(l) {
                    continue;
                }
                if really && *left == 0 {
                    change(l);
                    return true;
                }
                *left -= 1;
            }
            false
        })
    })
}

fn draft(plan: &mut Plan, rng: &mut Rng, change: &mut dyn FnMut(&mut Draft)) -> bool {
    step(plan, rng, |s| matches!(s, Step::Contract(_)), &mut |steps, n| {
        if let Step::Contract(draft) = &mut steps[n] {
            change(draft);
        }
    })
}

fn routine(plan: &mut Plan, rng: &mut Rng, change: &mut dyn FnMut(&mut RoutineStep)) -> bool {
    step(plan, rng, |s| matches!(s, Step::Routine(_)), &mut |steps, n| {
        if let Step::Routine(step) = &mut steps[n] {
            change(step);
        }
    })
}

/// Makes the room of a step an element too small.
fn smaller(plan: &mut Plan, rng: &mut Rng, room: fn(&Step<Nest>) -> Option<BufferId>) -> bool {
    let mut rooms = Vec::new();
    any_list(&mut plan.steps, &mut |steps| {
        rooms.extend(steps.iter().filter_map(room));
        false
    });
    rooms.retain(|b| plan.buffers[b.index()].shape.numel() > 0);
    if rooms.is_empty() {
        return false;
    }
    let buffer = &mut plan.buffers[rng.pick(&rooms).index()];
    let fewer = buffer.shape.numel() - 1;
    Shape::new("test", &[fewer]).map(|shape| buffer.shape = shape).is_ok()
}

/// Points the target of a nest to a buffer of a role.
fn retarget(plan: &mut Plan, rng: &mut Rng, fits: fn(&Role) -> bool) -> bool {
    let Some(b) = of_role(plan, rng, fits) else { return false };
    nest(plan, rng, any, &mut |nest| nest.target = b)
}

fn pick_dim(nest: &Nest, rng: &mut Rng) -> usize {
    rng.below(nest.extents.len().max(1))
}

macro_rules! mutations {
    ($($name:literal => |$plan:ident, $rng:ident| $body:expr;)*) => {
        pub const MUTATIONS: &[Mutation] =
            &[$(Mutation { name: $name, apply: |$plan, $rng| $body }),*];
    };
}

mutations! {
    // Nests: bounds and places.
    "a loop one longer" => |plan, rng| {
        let mut own = rng.fork();
        nest(plan, rng, |n| !n.extents.is_empty(), &mut |nest| {
            let dim = pick_dim(nest, &mut own);
            nest.extents[dim] += 1;
        })
    };
    "a loop one shorter" => |plan, rng| {
        let mut own = rng.fork();
        nest(plan, rng, |n| !n.extents.is_empty() && !n.extents.contains(&0), &mut |nest| {
            let dim = pick_dim(nest, &mut own);
            nest.extents[dim] -= 1;
        })
    };
    "a store one further" => |plan, rng| nest(plan, rng, has_place, &mut |nest| place(nest, |at| at.constant += 1));
    "a store one before" => |plan, rng| nest(plan, rng, has_place, &mut |nest| place(nest, |at| at.constant -= 1));
    "a store with another stride" => |plan, rng| {
        let mut own = rng.fork();
        nest(plan, rng, has_place, &mut |nest| {
            let dim = pick_dim(nest, &mut own);
            place(nest, |at| at.coeffs[dim] += 1);
        })
    };
    "a store without a dimension" => |plan, rng| {
        let mut own = rng.fork();
        nest(plan, rng, has_place, &mut |nest| {
            let dim = pick_dim(nest, &mut own);
            place(nest, |at| at.coeffs[dim] = 0);
        })
    };
    "a read one further" => |plan, rng| load(plan, rng, &mut |at| at.constant += 1);
    "a read one before" => |plan, rng| load(plan, rng, &mut |at| at.constant -= 1);
    "a read with another stride" => |plan, rng| {
        let mut own = rng.fork();
        load(plan, rng, &mut |at| {
            let dim = own.below(at.coeffs.len().max(1));
            if let Some(c) = at.coeffs.get_mut(dim) {
                *c += 1;
            }
        })
    };
    "a form of fewer dimensions" => |plan, rng| load(plan, rng, &mut |at| at.coeffs.truncate(at.coeffs.len().saturating_sub(1)));
    "a guard left out" => |plan, rng| instr(plan, rng, is_guarded, &mut |instr, _| {
        if let Instr::Load { checks, .. } = instr {
            checks.pop();
        }
    });
    "a guard too wide" => |plan, rng| instr(plan, rng, is_guarded, &mut |instr, _| {
        if let Instr::Load { checks, .. } = instr {
            checks[0].1 += 1;
        }
    });
    "a guard that is another" => |plan, rng| instr(plan, rng, is_guarded, &mut |instr, _| {
        if let Instr::Load { checks, .. } = instr {
            checks[0].0.constant -= 1;
        }
    });
    "an index too wide" => |plan, rng| instr(plan, rng, is_computed, &mut |instr, _| {
        if let Instr::LoadAt { index, .. } = instr {
            index[0].size += 1;
        }
    });
    "an index with another stride" => |plan, rng| instr(plan, rng, is_computed, &mut |instr, _| {
        if let Instr::LoadAt { index, .. } = instr {
            index[0].stride += 1;
        }
    });
    "a computed place too wide" => |plan, rng| {
        nest(plan, rng, |n| !n.write.index().is_empty(), &mut |nest| {
            if let Write::AddAt(index) | Write::StoreAt(index) = &mut nest.write {
                index[0].size += 1;
            }
        })
    };
    // Nests: buffers.
    "another target" => |plan, rng| retarget(plan, rng, |_| true);
    "a write to an input" => |plan, rng| retarget(plan, rng, |role| matches!(role, Role::Input(_)));
    "a write to a constant" => |plan, rng| retarget(plan, rng, |role| matches!(role, Role::Constant(_)));
    "a write to a view" => |plan, rng| retarget(plan, rng, |role| matches!(role, Role::View));
    "another buffer that is read" => |plan, rng| {
        let b = buffer(plan, rng);
        instr(plan, rng, is_load, &mut |instr, _| {
            if let Instr::Load { buffer, .. } = instr {
                *buffer = b;
            }
        })
    };
    "a read of what is written" => |plan, rng| {
        nest(plan, rng, |n| n.instrs.iter().any(is_load), &mut |nest| {
            let target = nest.target;
            for instr in &mut nest.instrs {
                if let Instr::Load { buffer, .. } = instr {
                    *buffer = target;
                }
            }
        })
    };
    "a buffer that is not there" => |plan, rng| {
        let beyond = BufferId(plan.buffers.len() as u32);
        nest(plan, rng, any, &mut |nest| nest.target = beyond)
    };
    // Nests: types and values.
    "another type" => |plan, rng| {
        let mut own = rng.fork();
        instr(plan, rng, |_| true, &mut |_, dtype| *dtype = *own.pick(&Dtype::ALL))
    };
    "a truth value that is 2" => |plan, rng| instr(plan, rng, |i| matches!(i, Instr::Const(_)), &mut |instr, dtype| {
        (*instr, *dtype) = (Instr::Const(2), Dtype::Bool);
    });
    "an operation on other types" => |plan, rng| {
        instr(plan, rng, |i| matches!(i, Instr::Op(_, args) if args.len() == 2), &mut |instr, _| {
            if let Instr::Op(op, _) = instr {
                *op = if *op == Op::And { Op::Div } else { Op::And };
            }
        })
    };
    "an operand too few" => |plan, rng| {
        instr(plan, rng, |i| matches!(i, Instr::Op(_, args) if args.len() > 1), &mut |instr, _| {
            if let Instr::Op(_, args) = instr {
                args.pop();
            }
        })
    };
    "a value before it is computed" => |plan, rng| {
        nest(plan, rng, |n| n.instrs.iter().any(|i| matches!(i, Instr::Op(..))), &mut |nest| {
            let last = Val(nest.instrs.len() as u32 - 1);
            for instr in &mut nest.instrs {
                if let Instr::Op(_, args) = instr {
                    args[0] = last;
                }
            }
        })
    };
    "a value that is not there" => |plan, rng| {
        nest(plan, rng, any, &mut |nest| nest.value = Val(nest.instrs.len() as u32))
    };
    "a dimension more reduced" => |plan, rng| nest(plan, rng, any, &mut |nest| nest.reduced += 1);
    "a dimension less reduced" => |plan, rng| nest(plan, rng, |n| n.reduced > 0, &mut |nest| nest.reduced -= 1);
    "a store beside the same store" => |plan, rng| {
        nest(plan, rng, |n| matches!(n.write, Write::Store(_)), &mut |nest| {
            if let Write::Store(at) = nest.write.clone() {
                let (value, target) = (nest.value, nest.target);
                nest.also.push(Also { value, target, at, source: None });
            }
        })
    };
    "a store instead of a sum" => |plan, rng| {
        nest(plan, rng, |n| matches!(n.write, Write::Sum(_)) && n.reduced > 0, &mut |nest| {
            if let Write::Sum(at) = nest.write.clone() {
                nest.write = Write::Store(at);
            }
        })
    };
    "a largest element of nothing" => |plan, rng| {
        nest(plan, rng, |n| matches!(n.write, Write::Best { .. }), &mut |nest| {
            let last = nest.extents.len() - 1;
            nest.extents[last] = 0;
        })
    };
    // Steps.
    "a missing step" => |plan, rng| step(plan, rng, |_| true, &mut |steps, n| drop(steps.remove(n)));
    "a missing nest" => |plan, rng| step(plan, rng, is_nest, &mut |steps, n| drop(steps.remove(n)));
    "no zeros to add to" => |plan, rng| {
        step(plan, rng, |s| matches!(s, Step::Zero(_)), &mut |steps, n| drop(steps.remove(n)))
    };
    "a step too early" => |plan, rng| step(plan, rng, |_| true, &mut |steps, n| steps.swap(0, n));
    "a step too late" => |plan, rng| step(plan, rng, |_| true, &mut |steps, n| {
        let last = steps.len() - 1;
        steps.swap(n, last);
    });
    "a copy the other way" => |plan, rng| step(plan, rng, is_copy, &mut |steps, n| {
        if let Step::Copy { from, to } = &mut steps[n] {
            std::mem::swap(from, to);
        }
    });
    "a copy of another" => |plan, rng| {
        let b = buffer(plan, rng);
        step(plan, rng, is_copy, &mut |steps, n| {
            if let Step::Copy { from, .. } = &mut steps[n] {
                *from = b;
            }
        })
    };
    "another condition" => |plan, rng| {
        let b = buffer(plan, rng);
        step(plan, rng, |s| matches!(s, Step::If(_) | Step::While(_)), &mut |steps, n| match &mut steps[n] {
            Step::If(branches) => branches.condition = b,
            Step::While(w) => w.condition = b,
            _ => {}
        })
    };
    "an empty branch" => |plan, rng| step(plan, rng, |s| matches!(s, Step::If(_)), &mut |steps, n| {
        if let Step::If(branches) = &mut steps[n] {
            branches.otherwise.clear();
        }
    });
    "a condition that is not computed" => |plan, rng| {
        step(plan, rng, |s| matches!(s, Step::While(_)), &mut |steps, n| {
            if let Step::While(w) = &mut steps[n] {
                w.before.clear();
            }
        })
    };
    "a sort without room" => |plan, rng| step(plan, rng, |s| matches!(s, Step::ArgSort { .. }), &mut |steps, n| {
        if let Step::ArgSort { to, room, .. } = &mut steps[n] {
            *room = *to;
        }
    });
    "a segment more" => |plan, rng| step(plan, rng, |s| matches!(s, Step::SegmentArg(_)), &mut |steps, n| {
        if let Step::SegmentArg(step) = &mut steps[n] {
            step.segments += 1;
        }
    });
    "a row of ids more" => |plan, rng| step(plan, rng, |s| matches!(s, Step::SegmentArg(_)), &mut |steps, n| {
        if let Step::SegmentArg(step) = &mut steps[n] {
            step.rows += 1;
        }
    });
    "a sort with less room" => |plan, rng| smaller(plan, rng, |step| match step {
        Step::ArgSort { room, .. } => Some(*room),
        _ => None,
    });
    // Routines.
    "a routine with less room" => |plan, rng| smaller(plan, rng, |step| match step {
        Step::Routine(step) => Some(step.room),
        _ => None,
    });
    "a routine of other floats" => |plan, rng| routine(plan, rng, &mut |step| {
        step.dtype = if step.dtype == Dtype::F32 { Dtype::F64 } else { Dtype::F32 };
    });
    "a routine of a row more" => |plan, rng| routine(plan, rng, &mut |step| step.rows += 1);
    "a routine of a batch more" => |plan, rng| routine(plan, rng, &mut |step| {
        step.batch = step.batch.iter().copied().chain([2]).collect();
    });
    "a routine without a result" => |plan, rng| routine(plan, rng, &mut |step| {
        step.results.pop();
    });
    "a routine without an operand" => |plan, rng| routine(plan, rng, &mut |step| {
        step.operands.pop();
    });
    "rows of an operand further apart" => |plan, rng| routine(plan, rng, &mut |step| {
        let rows = step.rows;
        if let Some(cells) = step.operands.first_mut() {
            cells.row += rows.max(1);
        }
    });
    "a routine of what it writes" => |plan, rng| routine(plan, rng, &mut |step| {
        if let Some(cells) = step.operands.first_mut() {
            cells.buffer = step.results[0];
        }
    });
    // Loops.
    "a step of a loop more" => |plan, rng| looped(plan, rng, |l| l.length > 0, &mut |l| l.length += 1);
    "a step of a loop less" => |plan, rng| looped(plan, rng, |l| l.length > 0, &mut |l| l.length -= 1);
    "a loop that does nothing" => |plan, rng| looped(plan, rng, |l| !l.steps.is_empty(), &mut |l| l.steps.clear());
    "another next state" => |plan, rng| {
        let b = buffer(plan, rng);
        looped(plan, rng, |l| !l.states.is_empty(), &mut |l| l.states[0].2 = b)
    };
    "another beginning" => |plan, rng| {
        let b = buffer(plan, rng);
        looped(plan, rng, |l| !l.states.is_empty(), &mut |l| l.states[0].0 = b)
    };
    "states exchanged that are not" => |plan, rng| {
        looped(plan, rng, |l| l.exchanged.contains(&false), &mut |l| l.exchanged.fill(true))
    };
    "two states in one place" => |plan, rng| {
        looped(plan, rng, |l| l.states.len() > 1, &mut |l| l.states[1].1 = l.states[0].1)
    };
    "another array stepped through" => |plan, rng| {
        let b = buffer(plan, rng);
        looped(plan, rng, |l| !l.inputs.is_empty(), &mut |l| l.inputs[0].0 = b)
    };
    "a part that is not given" => |plan, rng| looped(plan, rng, |l| !l.inputs.is_empty(), &mut |l| l.inputs.truncate(l.inputs.len() - 1));
    "nothing collected" => |plan, rng| {
        looped(plan, rng, |l| !l.collected.is_empty(), &mut |l| l.collected.truncate(l.collected.len() - 1))
    };
    "another part stored" => |plan, rng| {
        let b = buffer(plan, rng);
        looped(plan, rng, |l| !l.outputs.is_empty(), &mut |l| l.outputs[0].0 = b)
    };
    "another array to store in" => |plan, rng| {
        let b = buffer(plan, rng);
        looped(plan, rng, |l| !l.outputs.is_empty(), &mut |l| l.outputs[0].1 = b)
    };
    // Contractions.
    "a sum of sums" => |plan, rng| draft(plan, rng, &mut |draft| {
        let value = draft.core.value.index();
        draft.core.instrs[value] = Instr::Op(Op::Add, smallvec![Val(0), Val(1)]);
    });
    "a product to another buffer" => |plan, rng| {
        let b = buffer(plan, rng);
        draft(plan, rng, &mut |draft| draft.core.target = b)
    };
    "an operand one further" => |plan, rng| draft(plan, rng, &mut |draft| {
        if let Instr::Load { at, .. } = &mut draft.core.instrs[0] {
            at.constant += 1;
        }
    });
    // The whole.
    "a result that is a temporary" => |plan, rng| {
        let Some(b) = of_role(plan, rng, |role| matches!(role, Role::Temporary(_))) else { return false };
        let Some(first) = plan.outputs.first_mut() else { return false };
        *first = b;
        true
    };
    "a result twice" => |plan, _rng| {
        let Some(&first) = plan.outputs.first() else { return false };
        plan.outputs.push(first);
        true
    };
    "a result left out" => |plan, _rng| plan.outputs.pop().is_some();
    "another shape" => |plan, rng| {
        let made = |role: &Role| !matches!(role, Role::Constant(_) | Role::Input(_));
        let Some(b) = of_role(plan, rng, made) else { return false };
        let buffer = &mut plan.buffers[b.index()];
        let mut dims = buffer.shape.dims().to_vec();
        match dims.first_mut() {
            Some(k) if *k > 0 => *k -= 1,
            _ => dims.push(2),
        }
        Shape::new("test", &dims).map(|shape| buffer.shape = shape).is_ok()
    };
    "another element type" => |plan, rng| {
        let Some(b) = of_role(plan, rng, |role| !matches!(role, Role::Input(_))) else { return false };
        plan.buffers[b.index()].dtype = *rng.pick(&Dtype::ALL);
        true
    };
    "an input that is a temporary" => |plan, rng| {
        let Some(b) = of_role(plan, rng, |role| matches!(role, Role::Input(_))) else { return false };
        plan.buffers[b.index()].role = Role::Temporary(0);
        true
    };
    "a view that is a temporary" => |plan, rng| {
        let Some(b) = of_role(plan, rng, |role| matches!(role, Role::View)) else { return false };
        plan.buffers[b.index()].role = Role::Temporary(0);
        true
    };
}
