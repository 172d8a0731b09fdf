//! Machine code for the kernels that the tile machine runs, with the same results to the last bit.
//!
//! A nest is lowered to vector code ([`lower`], [`access`], [`write`], [`search`], [`ops`], [`math`]), loops over scalars too ([`scalar`]), its values get registers
//! ([`alloc`]), and instructions are encoded ([`emit`], [`vector`], [`lanes`]). Kernels of which
//! something has no code are left to the tile machine, all of them where the instructions are
//! missing or the system gives no executable memory.

mod access;
mod alloc;
mod asm;
mod emit;
mod isa;
mod lanes;
mod lir;
mod lower;
mod math;
mod memory;
mod ops;
mod scalar;
mod search;
mod shape;
mod table;
#[cfg(test)]
mod tests;
mod vector;
mod write;

use std::sync::Arc;

use cotan_nest::{Loop, Step};

use crate::compiled::CompiledPlan;
use crate::compiled::{CompiledGroup, Member};
use crate::vm::native::{Call, Entry, Native, Tight};
use crate::vm::{ACCUMULATOR_BYTES, Code, Kernel, LONGEST, run_code};
use cotan_schedule::look;
use isa::VectorIsa;
use lower::Unroll;
use memory::CodeMemory;
use shape::Order;

/// Most element operations of a kernel that is called without a look at threads or blocks.
const SHORT: usize = 1 << 14;

/// The calls of a group that has nothing but short kernels to run, each once.
fn calls(group: &CompiledGroup) -> Vec<Call> {
    let once = group.block >= group.extent && group.locals.is_empty() && group.partials.is_empty();
    // A group that looks at its arrays first does not know yet which members to run.
    let plain = once && group.relaxed.is_none();
    let call = |member: &Member| match member {
        Member::Nest(kernel) => {
            let elements = kernel.nest.extents.iter().fold(1usize, |n, &k| n.saturating_mul(k));
            let short = elements.saturating_mul(kernel.nest.instrs.len()) <= SHORT;
            let native = kernel.native.clone().filter(|_| short)?;
            Call::new(native, group.extent)
        }
        Member::Wedged(_) | Member::Contraction(_) => None,
    };
    let all = group.members.iter().filter(|_| plain).map(call).collect::<Option<Vec<_>>>();
    all.unwrap_or_default()
}

/// The steps of a loop as calls, if they are nothing else.
fn tight(l: &Loop<CompiledGroup>, whole: Option<Native>) -> Option<Tight> {
    let mut tight = Tight { calls: Vec::new(), cost: 0, whole };
    for step in &l.steps {
        match step {
            Step::Compute(group) if tight.whole.is_some() || !group.calls.is_empty() => {
                tight.calls.extend(group.calls.iter().cloned());
                tight.cost = tight.cost.saturating_add(group.cost.saturating_mul(group.extent));
            }
            _ if tight.whole.is_some() => tight.cost = tight.cost.saturating_add(1),
            _ => return None,
        }
    }
    Some(tight)
}

/// Machine code with what it refers to.
#[derive(Debug)]
struct Loaded {
    memory: CodeMemory,
    /// Functions of the tile machine that it calls.
    _codes: Vec<Box<[Code]>>,
}

/// The bytes of one kernel, and what it refers to.
struct Encoded {
    bytes: Vec<u8>,
    codes: Box<[Code]>,
    arrangement: Arrangement,
}

/// How the code of a kernel is arranged.
#[derive(Clone, Copy, Debug)]
struct Arrangement {
    unroll: Unroll,
    /// The dimension whose positions are done side by side.
    jam: Option<usize>,
}

/// Vector code with registers.
struct Arranged {
    lir: lir::Lir,
    codes: Vec<Code>,
    homes: alloc::Homes,
    arrangement: Arrangement,
}

impl Arranged {
    fn new(order: Order, isa: VectorIsa, unroll: Unroll) -> Option<Arranged> {
        let (lir, codes) = lower::lower(order, isa, unroll)?;
        let homes = alloc::allocate(&lir);
        Some(Arranged { lir, codes, homes, arrangement: Arrangement { unroll, jam: order.jam } })
    }

    /// Whether so few values are in memory that it takes less than waiting for results.
    fn suffices(&self, order: Order, isa: VectorIsa) -> bool {
        let Unroll { copies, together } = self.arrangement.unroll;
        let vectors = match order.lanes_reduced() {
            true => together.min(ACCUMULATOR_BYTES / isa.bytes()),
            false => copies,
        };
        let length = lower::length(order.nest).saturating_mul(vectors * order.jammed());
        self.homes.spilled <= length / order.unrolling.instrs_per_spill
    }
}

/// The vector code of a kernel with registers: unrolled as far as they suffice, or like another one.
fn arrange(kernel: &Kernel, isa: VectorIsa, like: Option<Arrangement>) -> Option<Arranged> {
    let order = Order::of(kernel);
    if let Some(Arrangement { unroll, jam }) = like {
        return order.jam(jam, |order| Arranged::new(order, isa, unroll));
    }
    let jam = kernel.jam;
    let jammed = jam.and_then(|_| order.jam(jam, |order| unrolled(order, isa)));
    match jammed.filter(|jammed| order.jam(jam, |order| jammed.suffices(order, isa))) {
        None => unrolled(order, isa),
        jammed => jammed,
    }
}

/// The vector code of a kernel with registers, which suffice or are as many as there are.
fn unrolled(order: Order, isa: VectorIsa) -> Option<Arranged> {
    let all = usize::MAX;
    let mut best: Option<Arranged> = None;
    if order.lanes_reduced() {
        // As many copies as there are accumulators.
        for together in [all, 2, 1] {
            let arranged = Arranged::new(order, isa, Unroll { copies: 1, together })?;
            let suffices = arranged.suffices(order, isa);
            best = Some(arranged);
            if suffices {
                break;
            }
        }
        return best;
    }
    // As many vectors as there are lanes for.
    let most = order.lane.map_or(1, |lane| order.nest.extents[lane].div_ceil(isa.bytes() / 8));
    let length = lower::length(order.nest) * order.jammed();
    let fewer = |&copies: &usize| Some(copies / 2).filter(|&copies| copies > 0);
    for copies in std::iter::successors(Some(order.unrolling.max_copies.max(1)), fewer) {
        let too_many =
            copies > 1 && (copies / 2 >= most || copies * length > order.unrolling.max_instrs);
        // Where registers suffice for the values, fewer copies could only spare constants.
        let enough = copies == 1 && best.as_ref().is_some_and(|b| b.homes.spilled == 0);
        if too_many || enough {
            continue;
        }
        let arranged = Arranged::new(order, isa, Unroll { copies, together: all })?;
        let homes = &arranged.homes;
        let (spilled, perfect) = (homes.spilled, homes.spilled == 0 && homes.unpinned == 0);
        if perfect || best.as_ref().is_none_or(|best| spilled < best.homes.spilled) {
            best = Some(arranged);
        }
        if perfect {
            break;
        }
    }
    best
}

/// The machine code of a kernel.
fn encode(kernel: &Kernel, isa: VectorIsa, like: Option<Arrangement>) -> Option<Encoded> {
    let Arranged { lir, codes, homes, arrangement } = arrange(kernel, isa, like)?;
    let (bytes, codes) = assemble(&lir, codes, &homes)?;
    Some(Encoded { bytes, codes, arrangement })
}

/// The bytes of vector code with registers, and what they refer to.
fn assemble(
    lir: &lir::Lir,
    codes: Vec<Code>,
    homes: &alloc::Homes,
) -> Option<(Vec<u8>, Box<[Code]>)> {
    let codes: Box<[Code]> = codes.into_boxed_slice();
    let helper = run_lanes as *const () as u64;
    let functions: Vec<u64> =
        codes.iter().flat_map(|code| [std::ptr::from_ref(code) as u64, helper]).collect();
    let asm = emit::emit(lir, homes, &functions)?;
    let bytes = asm.finish(&lir.pool)?;
    Some((bytes, codes))
}

/// Runs a function of the tile machine on the lanes of a vector.
///
/// # Safety
/// As [`run_code`].
unsafe extern "sysv64" fn run_lanes(
    code: *const Code,
    to: *mut u8,
    a: *const u8,
    b: *const u8,
    c: *const u8,
    n: usize,
) {
    // SAFETY: by the contract; the code outlives the machine code that calls it.
    unsafe { run_code(*code, to, a, b, c, n) };
}

/// In a plan of more kernels than this only those that do much have machine code: it takes longer to
/// make than thousands of elements.
const MANY: usize = 4096;
const MUCH: usize = 4096;

/// A plan whose kernels have machine code, where that is possible.
pub(crate) fn with_machine_code(mut plan: CompiledPlan) -> CompiledPlan {
    if let Some(isa) = isa::best() {
        attach_for(&mut plan, isa);
    }
    plan
}

fn attach_for(plan: &mut CompiledPlan, isa: VectorIsa) {
    let mut count = 0;
    for_each_kernel(&mut plan.steps, &mut |kernel, _, _| {
        // Fused scalar operations are as many as they were before.
        let fused = if kernel.nest.extents.is_empty() { kernel.nest.instrs.len() / 4 } else { 0 };
        count += fused.max(1);
    });
    let pays = |kernel: &Kernel, block: usize| {
        let positions = kernel.nest.extents.iter().fold(1usize, |n, &k| n.saturating_mul(k));
        let much = count <= MANY || positions.saturating_mul(kernel.nest.instrs.len()) >= MUCH;
        let short = kernel.at_a_time(block.min(kernel.positions())) <= LONGEST;
        // A nest without positions is left to the tile machine: code is run without another look.
        positions > 0 && much && short
    };
    let mut all: Vec<u8> = Vec::new();
    let mut codes = Vec::new();
    let mut starts: Vec<Option<usize>> = Vec::with_capacity(count);
    let mut before = None;
    for_each_kernel(&mut plan.steps, &mut |kernel, block, again| {
        let like = before.filter(|_| again);
        // What is left when the work has to end needs no code: there will be no plan.
        let worth_it = look().is_ok() && pays(kernel, block);
        let encoded = if worth_it { encode(kernel, isa, like) } else { None };
        before = encoded.as_ref().map(|encoded| encoded.arrangement);
        starts.push(encoded.map(|encoded| {
            all.resize(all.len().next_multiple_of(64), 0xcc);
            let start = all.len();
            all.extend_from_slice(&encoded.bytes);
            codes.push(encoded.codes);
            start
        }));
    });
    let mut loops: Vec<Option<usize>> = Vec::new();
    let buffers = &plan.buffers;
    for_each_loop(&mut plan.steps, &mut |l| {
        let lowered = if look().is_ok() { scalar::lower(l, buffers, isa) } else { None };
        let encoded = lowered.and_then(|(lir, codes)| {
            let homes = alloc::allocate(&lir);
            assemble(&lir, codes, &homes)
        });
        loops.push(encoded.map(|(bytes, made)| {
            all.resize(all.len().next_multiple_of(64), 0xcc);
            let start = all.len();
            all.extend_from_slice(&bytes);
            codes.push(made);
            start
        }));
    });
    if all.is_empty() {
        return;
    }
    let Some(memory) = CodeMemory::new(&all) else { return };
    let code = Arc::new(Loaded { memory, _codes: codes });
    let native = |start: Option<usize>| {
        let start = start.and_then(|at| code.memory.at(at))?;
        // SAFETY: a function of this type begins there.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(start) };
        Some(Native::new(entry, code.clone()))
    };
    let mut starts = starts.into_iter();
    for_each_kernel(&mut plan.steps, &mut |kernel, _, _| {
        kernel.native = native(starts.next().flatten());
    });
    for_each_step(&mut plan.steps, &mut |step| {
        if let Step::Compute(group) = step {
            group.calls = calls(group);
        }
    });
    let mut loops = loops.into_iter();
    for_each_loop(&mut plan.steps, &mut |l| {
        l.schedule.tight = tight(l, native(loops.next().flatten()));
    });
}

/// All steps of a plan, those inside of others before these.
fn for_each_step(steps: &mut [Step<CompiledGroup>], f: &mut impl FnMut(&mut Step<CompiledGroup>)) {
    for step in steps {
        match step {
            Step::Loop(l) => for_each_step(&mut l.steps, f),
            Step::While(w) => {
                for_each_step(&mut w.before, f);
                for_each_step(&mut w.body.steps, f);
            }
            Step::If(branches) => {
                for_each_step(&mut branches.then, f);
                for_each_step(&mut branches.otherwise, f);
            }
            Step::Compute(_) | Step::Scalars(_) | Step::Contract(_) | Step::Zero(_) => {}
            Step::Copy { .. } | Step::ArgSort { .. } | Step::SegmentArg(_) | Step::Routine(_) => {}
        }
        f(step);
    }
}

/// All loops of a plan with a number of steps, inner ones first.
fn for_each_loop(steps: &mut [Step<CompiledGroup>], f: &mut impl FnMut(&mut Loop<CompiledGroup>)) {
    for_each_step(steps, &mut |step| {
        if let Step::Loop(l) = step {
            f(l);
        }
    });
}

/// All kernels of a plan, in order, each with the most positions that it is run for, and whether it
/// is the one before for fewer indices.
fn for_each_kernel(
    steps: &mut [Step<CompiledGroup>],
    f: &mut impl FnMut(&mut Kernel, usize, bool),
) {
    for_each_step(steps, &mut |step| match step {
        Step::Compute(group) => {
            let group = &mut ***group;
            let relaxed = group.relaxed.iter_mut().flat_map(|relaxed| &mut relaxed.members);
            for member in group.members.iter_mut().chain(relaxed.flatten()) {
                match member {
                    Member::Nest(kernel) => f(kernel, group.block, false),
                    Member::Wedged(wedged) => {
                        for (n, kernel) in wedged.kernels.iter_mut().enumerate() {
                            f(kernel, group.block, n > 0);
                        }
                    }
                    Member::Contraction(contraction) => {
                        contraction.kernels_mut().for_each(|kernel| f(kernel, usize::MAX, false));
                    }
                }
            }
        }
        Step::Contract(contraction) => {
            contraction.kernels_mut().for_each(|kernel| f(kernel, usize::MAX, false));
        }
        Step::Scalars(_) | Step::Zero(_) | Step::Copy { .. } | Step::ArgSort { .. } => {}
        Step::SegmentArg(_) | Step::Routine(_) => {}
        Step::Loop(_) | Step::While(_) | Step::If(_) => {}
    });
}
