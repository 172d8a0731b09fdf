//! Loop nests: what a kernel is, whoever runs it.
//!
//! A nest has an iteration space of static extents, a straight-line body in which every value is a
//! function of the loop indices, and writes: stores, sums over the last dimensions, or additions at
//! computed places. Reads are affine in the indices wherever that is possible.

use cotan_array::Dtype;
pub use cotan_ir::Affine;
use cotan_ir::TermId;
use cotan_ir::scalar::Op;
use smallvec::SmallVec;

/// A piece of memory that holds an array in row-major order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

impl BufferId {
    /// Its position in the list of buffers.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A value of a nest's body: the position of its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Val(pub u32);

impl Val {
    /// The position of its instruction.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One component of a computed index: which value, how many positions there are, and how far apart
/// they lie.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Component {
    /// The component, an integer.
    pub value: Val,
    /// Positions from 0 to below this are in range.
    pub size: usize,
    /// The elements from a position to the next.
    pub stride: i64,
}

/// One instruction of a nest's body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Instr {
    /// A number, as bits of its type.
    Const(u64),
    /// An integer that is affine in the indices.
    Affine(Affine),
    /// The element of a buffer at an affine place; 0 where a check fails.
    Load {
        /// What is read.
        buffer: BufferId,
        /// The element.
        at: Affine,
        /// Forms that must lie between 0 and below a size.
        checks: Vec<(Affine, i64)>,
    },
    /// The element of a buffer at a computed place; 0 where a component is out of range.
    LoadAt {
        /// What is read.
        buffer: BufferId,
        /// The element.
        index: Vec<Component>,
    },
    /// A scalar operation.
    Op(Op, SmallVec<[Val; 3]>),
    /// $\pm ab \pm c$ of floats, rounded once.
    MulAdd {
        /// $a$, $b$ and $c$.
        args: [Val; 3],
        /// Whether it is $-ab$.
        minus_product: bool,
        /// Whether it is $-c$.
        minus_addend: bool,
    },
}

impl Instr {
    /// The values that it needs.
    pub fn for_each_operand(&self, mut f: impl FnMut(Val)) {
        match self {
            Instr::Const(_) | Instr::Affine(_) | Instr::Load { .. } => {}
            Instr::LoadAt { index, .. } => index.iter().for_each(|c| f(c.value)),
            Instr::Op(_, args) => args.iter().copied().for_each(f),
            Instr::MulAdd { args, .. } => args.iter().copied().for_each(f),
        }
    }

    /// The same, to be exchanged for others.
    pub fn for_each_operand_mut(&mut self, mut f: impl FnMut(&mut Val)) {
        match self {
            Instr::Const(_) | Instr::Affine(_) | Instr::Load { .. } => {}
            Instr::LoadAt { index, .. } => index.iter_mut().for_each(|c| f(&mut c.value)),
            Instr::Op(_, args) => args.iter_mut().for_each(f),
            Instr::MulAdd { args, .. } => args.iter_mut().for_each(f),
        }
    }
}

/// What a nest does with a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Stores it at an affine place.
    Store(Affine),
    /// Adds it up over the reduced dimensions, and stores the sum at an affine place of the others.
    Sum(Affine),
    /// Stores the largest, or smallest, over the reduced dimensions, as an operation of the table
    /// finds it: NaN if there is one.
    Best {
        /// The element.
        at: Affine,
        /// The largest, or the smallest.
        largest: bool,
    },
    /// Stores the position of the largest, or smallest, along the only reduced dimension.
    Extreme {
        /// The element.
        at: Affine,
        /// The largest, or the smallest.
        largest: bool,
    },
    /// Adds it to the element at an affine place, where no check fails.
    Add {
        /// The element.
        at: Affine,
        /// Forms that must lie between 0 and below a size.
        checks: Vec<(Affine, i64)>,
    },
    /// Adds it to the element at a computed place, if that is in range.
    AddAt(Vec<Component>),
    /// Stores it at a computed place, if that is in range. Of several for one place the last
    /// counts.
    StoreAt(Vec<Component>),
}

/// How values over reduced dimensions become one, and what is made of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// The largest of them, or NaN.
    Largest,
    /// The smallest of them, or NaN.
    Smallest,
}

impl Reduction {
    /// The largest, or the smallest.
    pub fn best(largest: bool) -> Reduction {
        if largest { Reduction::Largest } else { Reduction::Smallest }
    }
}

impl Write {
    /// How the elements of reduced dimensions become one, if a part of them may be taken first.
    pub fn reduction(&self) -> Option<Reduction> {
        match self {
            Write::Sum(_) => Some(Reduction::Sum),
            Write::Best { largest, .. } => Some(Reduction::best(*largest)),
            Write::Store(_) | Write::Extreme { .. } => None,
            Write::Add { .. } | Write::AddAt(_) | Write::StoreAt(_) => None,
        }
    }

    /// Whether it changes some elements of an array, in the order of the indices.
    pub fn scatters(&self) -> bool {
        match self {
            Write::Add { .. } | Write::AddAt(_) | Write::StoreAt(_) => true,
            Write::Store(_) | Write::Sum(_) | Write::Best { .. } | Write::Extreme { .. } => false,
        }
    }

    /// The index of a computed place.
    pub fn index(&self) -> &[Component] {
        match self {
            Write::AddAt(index) | Write::StoreAt(index) => index,
            Write::Store(_) | Write::Sum(_) | Write::Best { .. } | Write::Extreme { .. } => &[],
            Write::Add { .. } => &[],
        }
    }

    fn index_mut(&mut self) -> &mut [Component] {
        match self {
            Write::AddAt(index) | Write::StoreAt(index) => index,
            Write::Store(_) | Write::Sum(_) | Write::Best { .. } | Write::Extreme { .. } => &mut [],
            Write::Add { .. } => &mut [],
        }
    }

    /// The place of the element that each parallel position fills, if it is always the same.
    pub fn place(&self) -> Option<&Affine> {
        match self {
            Write::Store(at) | Write::Sum(at) => Some(at),
            Write::Best { at, .. } | Write::Extreme { at, .. } => Some(at),
            Write::Add { .. } | Write::AddAt(_) | Write::StoreAt(_) => None,
        }
    }

    /// The same, to change it.
    pub fn place_mut(&mut self) -> Option<&mut Affine> {
        match self {
            Write::Store(at) | Write::Sum(at) => Some(at),
            Write::Best { at, .. } | Write::Extreme { at, .. } => Some(at),
            Write::Add { .. } | Write::AddAt(_) | Write::StoreAt(_) => None,
        }
    }
}

/// A value that a nest stores besides what it writes, at every position of the whole space.
#[derive(Clone, Debug, PartialEq)]
pub struct Also {
    /// What is stored.
    pub value: Val,
    /// Where to.
    pub target: BufferId,
    /// The element.
    pub at: Affine,
    /// The term that it is, if it is known.
    pub source: Option<TermId>,
}

/// A loop nest.
#[derive(Clone, Debug, PartialEq)]
pub struct Nest {
    /// How many positions each dimension has, outermost first.
    pub extents: Vec<usize>,
    /// How many of the last dimensions are reduced.
    pub reduced: usize,
    /// The body, operands before their users.
    pub instrs: Vec<Instr>,
    /// The types of the values.
    pub dtypes: Vec<Dtype>,
    /// What is written.
    pub value: Val,
    /// Where to.
    pub target: BufferId,
    /// How.
    pub write: Write,
    /// What else it stores, in this order, before what it writes.
    pub also: Vec<Also>,
    /// The term that it computes, if it is known.
    pub source: Option<TermId>,
}

/// What touches buffers.
pub trait Touches {
    /// The buffers that it touches, those that it writes first.
    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId));
}

impl Touches for Nest {
    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        f(self.target);
        self.also.iter().for_each(|also| f(also.target));
        for instr in &self.instrs {
            match instr {
                Instr::Load { buffer, .. } | Instr::LoadAt { buffer, .. } => f(*buffer),
                Instr::Const(_) | Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => {}
            }
        }
    }
}

impl Nest {
    /// The buffers that it touches, to be exchanged for others.
    pub fn for_each_buffer_mut(&mut self, f: &dyn Fn(&mut BufferId)) {
        f(&mut self.target);
        self.also.iter_mut().for_each(|also| f(&mut also.target));
        for instr in &mut self.instrs {
            match instr {
                Instr::Load { buffer, .. } | Instr::LoadAt { buffer, .. } => f(buffer),
                Instr::Const(_) | Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => {}
            }
        }
    }

    /// Whether it reads one of some buffers.
    pub fn reads(&self, is_one: impl Fn(BufferId) -> bool) -> bool {
        self.instrs.iter().any(|instr| match instr {
            Instr::Load { buffer, .. } | Instr::LoadAt { buffer, .. } => is_one(*buffer),
            Instr::Const(_) | Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => false,
        })
    }

    /// Lets it fill another buffer, at places by the dimensions that are not reduced: the first ones
    /// of a form, which may have more.
    pub fn move_target(&mut self, to: BufferId, at: &Affine) {
        let parallel = self.extents.len() - self.reduced;
        self.target = to;
        if let Some(place) = self.write.place_mut() {
            place.constant = at.constant;
            place.coeffs.fill(0);
            place.coeffs[..parallel].copy_from_slice(&at.coeffs[..parallel]);
        }
    }

    /// The values that are not for its own instructions only.
    pub fn for_each_written(&self, mut f: impl FnMut(Val)) {
        f(self.value);
        self.also.iter().for_each(|also| f(also.value));
        self.write.index().iter().for_each(|c| f(c.value));
    }

    /// The nest without instructions that nothing needs.
    pub fn without_dead(mut self) -> Nest {
        let mut needed = vec![false; self.instrs.len()];
        self.for_each_written(|v| needed[v.index()] = true);
        for n in (0..needed.len()).rev() {
            if needed[n] {
                self.instrs[n].for_each_operand(|v| needed[v.index()] = true);
            }
        }
        let mut moved = vec![Val(0); needed.len()];
        let mut kept = 0;
        for n in 0..needed.len() {
            if needed[n] {
                moved[n] = Val(kept as u32);
                self.instrs.swap(kept, n);
                self.dtypes.swap(kept, n);
                self.instrs[kept].for_each_operand_mut(|v| *v = moved[v.index()]);
                kept += 1;
            }
        }
        self.instrs.truncate(kept);
        self.dtypes.truncate(kept);
        self.value = moved[self.value.index()];
        self.also.iter_mut().for_each(|also| also.value = moved[also.value.index()]);
        self.write.index_mut().iter_mut().for_each(|c| c.value = moved[c.value.index()]);
        self
    }

    /// Every affine form in it.
    pub fn affines_mut(&mut self) -> impl Iterator<Item = &mut Affine> {
        let mut write: SmallVec<[&mut Affine; 2]> = SmallVec::new();
        match &mut self.write {
            Write::Store(at) | Write::Sum(at) => write.push(at),
            Write::Best { at, .. } | Write::Extreme { at, .. } => write.push(at),
            Write::Add { at, checks } => {
                write.push(at);
                write.extend(checks.iter_mut().map(|(affine, _)| affine));
            }
            Write::AddAt(_) | Write::StoreAt(_) => {}
        }
        write.extend(self.also.iter_mut().map(|also| &mut also.at));
        let inside = self.instrs.iter_mut().flat_map(|instr| {
            let mut found: SmallVec<[&mut Affine; 2]> = SmallVec::new();
            match instr {
                Instr::Affine(affine) => found.push(affine),
                Instr::Load { at, checks, .. } => {
                    found.push(at);
                    found.extend(checks.iter_mut().map(|(affine, _)| affine));
                }
                Instr::Const(_) | Instr::LoadAt { .. } => {}
                Instr::Op(..) | Instr::MulAdd { .. } => {}
            }
            found
        });
        inside.chain(write)
    }

    /// Drops dimensions of one position, and makes one of two neighbours wherever every access runs
    /// through both as through one; but keeps a dimension as it is, and gives its new number.
    pub fn collapse(mut self, kept: Option<usize>) -> (Nest, Option<usize>) {
        let mut kept = kept;
        let mut dim = 0;
        while dim < self.extents.len() {
            let parallel = self.extents.len() - self.reduced;
            let remove = |nest: &mut Nest, kept: &mut Option<usize>| {
                nest.reduced -= usize::from(dim >= parallel);
                nest.affines_mut().for_each(|affine| {
                    affine.coeffs.remove(dim);
                });
                *kept = kept.map(|k| k - usize::from(k > dim));
                nest.extents.remove(dim)
            };
            if self.extents[dim] == 1 && kept != Some(dim) {
                remove(&mut self, &mut kept);
                continue;
            }
            let next = self.extents.get(dim + 1).copied();
            let mergeable = next.is_some_and(|k| {
                let fits = self.extents[dim].checked_mul(k).is_some();
                let k = k as i64;
                fits && dim + 1 != parallel
                    && kept != Some(dim)
                    && kept != Some(dim + 1)
                    && self
                        .affines_mut()
                        .all(|a| Some(a.coeffs[dim]) == a.coeffs[dim + 1].checked_mul(k))
            });
            if mergeable {
                self.extents[dim + 1] *= self.extents[dim];
                remove(&mut self, &mut kept);
                // The merged dimension may go together with the next, and with the one before.
                dim = dim.saturating_sub(1);
                continue;
            }
            dim += 1;
        }
        (self, kept)
    }
}
