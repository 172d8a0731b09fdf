//! Vector code before registers: what loops and bodies are made of.
//!
//! Values are in single-assignment form, except sums, which are added to. A value is a vector with
//! an element for each of `lanes` neighbouring indices of the lane dimension; one that is the same
//! for all has it on every lane.

use rustc_hash::FxHashMap;

use super::isa::VectorIsa;

/// A vector, or a mask of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct V(pub u32);

impl V {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// An integer in a general register or in the frame: a pointer, an affine form, a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Int(pub u32);

impl Int {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a value is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ValueKind {
    /// Lanes of eight bytes.
    Wide,
    /// Lanes of four bytes. When a vector has only as many lanes as wide values allow, half of one.
    Narrow,
    /// A truth value for each lane. Without mask registers: lanes of ones or zeros, as large as the
    /// largest lanes of the code.
    Mask,
    /// The same for narrow lanes beside wide ones, without mask registers.
    HalfMask,
}

/// Operations on two vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Two {
    Add,
    Sub,
    Mul,
    Div,
    /// `a < b ? a : b`: the second if either is NaN or they are equal.
    Min,
    /// `a > b ? a : b`.
    Max,
    And,
    /// `!a & b`
    AndNot,
    Or,
    Xor,
    IntAdd,
    IntSub,
    /// The product of the lower halves of wide lanes.
    MulLow,
    /// The lower half of the product of wide lanes; only where the instruction exists.
    IntMul,
}

/// Operations on one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum One {
    Sqrt,
    /// To an integer, in the given mode of rounding.
    Round(u8),
    ShiftLeft(u8),
    ShiftRight(u8),
    /// Narrow floats to wide ones and back.
    Widen,
    NarrowDown,
    /// Integers to floats and back; only where the instructions exist.
    FloatFromInt,
    NarrowFromInt,
    IntFromFloat,
    /// Masks of wide lanes to masks of narrow ones and back.
    HalfMask,
    FullMask,
    Not,
    /// The upper part of a vector in the lower: of 64, 32, 16 or 8 bytes.
    Upper(u8),
}

/// Fused multiplication and addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FusedOp {
    /// `a * b + c`
    MulAdd,
    /// `a * b - c`
    MulSub,
    /// `c - a * b`
    NegMulAdd,
    /// `-(a * b) - c`
    NegMulSub,
}

/// Comparisons of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IntCompare {
    Equal,
    Greater,
}

/// A place in memory: bytes from an integer on, and the lane index times the size if it runs along,
/// or a computed number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub base: Int,
    pub offset: i32,
    /// The bytes from lane to lane when they are those of neighbouring elements.
    pub along: Option<u8>,
    /// The element of the first lane, as the first lane of a wide vector, and the bytes of an
    /// element.
    pub row: Option<(V, u8)>,
}

/// Elements that a scalar loop over lanes goes to: `stride` bytes apart, or at computed places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneAddresses {
    Apart(i64),
    /// Elements from the address on, by a wide vector of integers.
    At(V),
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) enum Ins {
    One(One, V, V),
    Two(Two, V, V, V),
    Fused(FusedOp, V, V, V, V),
    /// A comparison of floats by the predicate of the instruction.
    Compare(u8, V, V, V),
    CompareInt(IntCompare, V, V, V),
    /// `to, mask, a, b`: `a` where the mask holds, `b` elsewhere.
    Choose(V, V, V, V),
    /// `to, mask, a`: `a` where the mask holds, 0 elsewhere.
    Keep(V, V, V),
    /// A mask that holds everywhere or nowhere.
    Fixed(V, bool),
    /// Zeros; the beginning of a sum.
    Zero(V),
    /// The beginning of a champion.
    Copy(V, V),
    /// `sum, value`: adds to a sum, as integers or not.
    AddTo(V, V, bool),
    /// `sum, a, b`: adds the product to a sum, rounded once.
    MulAddTo(V, V, V),
    /// An integer and a number, on all lanes.
    Splat(V, Int, i64),
    /// How many lanes of the run there are from the index at hand, and a number, on all lanes.
    SplatRest(V, i64),
    /// Neighbouring elements, 0 where a mask does not hold.
    Load(V, Address, Option<V>),
    /// One element on all lanes.
    Broadcast(V, Address),
    Store(V, Address, Option<V>),
    /// The first lane.
    StoreFirst(V, Address),
    /// Truth values from neighbouring bytes.
    LoadBools(V, Address),
    BroadcastBool(V, Address),
    StoreBools(V, Address),
    /// Elements by an instruction that gathers: `to, address, places, mask`.
    Gather(V, Address, V, V),
    /// Elements one by one: `to, size, address, places, mask`.
    LoadLanes(V, u8, Address, LaneAddresses, Option<V>),
    StoreLanes(V, u8, Address, LaneAddresses, Option<V>),
    /// Adds lanes to elements one by one, in order.
    AddLanes(V, Add, Address, LaneAddresses, Option<V>),
    /// Calls a function of the tile machine: which, result, operands with their sizes.
    Call(usize, (V, u8), [Option<(V, u8)>; 3]),
    /// `result, mask, function, operand`: where the mask holds anywhere, the function gives all
    /// lanes anew; else nothing happens.
    Repair(V, V, usize, [Option<(V, u8)>; 2]),
    /// Sets the lane index to 0, or to the first of the run.
    FirstLane(bool),
    Enter(usize),
    Leave(usize),
}

/// How elements are added one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Add {
    F64,
    F32,
    I64,
}

/// What makes a loop end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trips {
    /// So many turns, at least one, counted in an integer.
    Count(Int, usize),
    /// From the first index of the run to its last, counted in an integer.
    Run(Int),
    /// The lanes from the index at hand, so many at a time, up to an index that is a multiple away.
    Lanes { step: usize, end: usize },
    /// The lanes of the run, so many at a time as long as there are that many.
    RunLanes { step: usize },
    /// The rest of the lanes of the run, so many at a time.
    RunRest { step: usize },
    /// Once.
    Once,
}

impl Trips {
    /// Whether it is a loop that is mostly taken more than once.
    pub(super) fn repeats(self) -> bool {
        match self {
            Trips::Count(..) | Trips::Run(_) => true,
            Trips::Lanes { .. } | Trips::RunLanes { .. } => true,
            Trips::RunRest { .. } | Trips::Once => false,
        }
    }
}

/// A loop: how often, what integers change by after each turn, and by how much after the last.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    pub trips: Trips,
    pub steps: Vec<(Int, i64)>,
    pub reset: Vec<(Int, i64)>,
    /// Whether `reset` counts for each index of the run, or of its lanes that are done.
    pub per_run: bool,
}

/// How an integer begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Start {
    /// The buffer whose address it is, if any.
    pub buffer: Option<u32>,
    pub offset: i64,
    /// Times the first index of the run.
    pub per_first: i64,
}

/// Code of one kernel before registers.
pub(super) struct Lir {
    pub isa: VectorIsa,
    pub lanes: usize,
    /// The bytes of the largest lanes.
    pub unit: usize,
    pub kinds: Vec<ValueKind>,
    pub code: Vec<Ins>,
    pub loops: Vec<Turns>,
    pub ints: Vec<Start>,
    /// For values that are constants: their place in the pool.
    pub constants: FxHashMap<V, usize>,
    pub pool: Vec<u8>,
    pooled: FxHashMap<(ValueKind, Vec<u8>), V>,
}

/// The index on the lane dimension.
pub(super) const LANE: Int = Int(0);
/// The end of the indices of the run.
pub(super) const END: Int = Int(1);

impl Lir {
    pub(super) fn new(isa: VectorIsa, unit: usize) -> Lir {
        let begin = Start { buffer: None, offset: 0, per_first: 0 };
        Lir {
            isa,
            lanes: isa.bytes() / unit,
            unit,
            kinds: Vec::new(),
            code: Vec::new(),
            loops: Vec::new(),
            ints: vec![begin, begin],
            constants: FxHashMap::default(),
            pool: Vec::new(),
            pooled: FxHashMap::default(),
        }
    }

    pub(super) fn value(&mut self, kind: ValueKind) -> V {
        self.kinds.push(kind);
        V((self.kinds.len() - 1) as u32)
    }

    pub(super) fn kind(&self, v: V) -> ValueKind {
        self.kinds[v.index()]
    }

    pub(super) fn int(&mut self, start: Start) -> Int {
        self.ints.push(start);
        Int((self.ints.len() - 1) as u32)
    }

    /// The bytes of a value of a kind.
    pub(super) fn bytes(&self, kind: ValueKind) -> usize {
        match kind {
            ValueKind::Wide => self.lanes * 8,
            ValueKind::Narrow | ValueKind::HalfMask => self.lanes * 4,
            ValueKind::Mask => self.lanes * self.unit,
        }
    }

    /// A constant with the given bits on each lane.
    pub(super) fn table(&mut self, kind: ValueKind, lane: impl Fn(usize) -> u64) -> V {
        let size = self.bytes(kind) / self.lanes;
        let mut bytes = Vec::with_capacity(self.lanes * size);
        for k in 0..self.lanes {
            bytes.extend_from_slice(&lane(k).to_le_bytes()[..size]);
        }
        let key = (kind, bytes);
        if let Some(&v) = self.pooled.get(&key) {
            return v;
        }
        let at = self.pool.len();
        self.pool.extend_from_slice(&key.1);
        self.pool.resize(self.pool.len().next_multiple_of(self.isa.bytes()), 0);
        let v = self.value(kind);
        self.constants.insert(v, at);
        self.pooled.insert(key, v);
        v
    }

    pub(super) fn constant(&mut self, kind: ValueKind, bits: u64) -> V {
        self.table(kind, |_| bits)
    }

    /// A float of a kind.
    pub(super) fn float(&mut self, kind: ValueKind, x: f64) -> V {
        match kind {
            ValueKind::Narrow => self.constant(kind, u64::from((x as f32).to_bits())),
            ValueKind::Wide | ValueKind::Mask | ValueKind::HalfMask => {
                self.constant(kind, x.to_bits())
            }
        }
    }

    pub(super) fn one(&mut self, op: One, a: V) -> V {
        let kind = match op {
            One::Widen | One::FloatFromInt | One::IntFromFloat => ValueKind::Wide,
            One::NarrowDown | One::NarrowFromInt => ValueKind::Narrow,
            One::HalfMask => ValueKind::HalfMask,
            One::FullMask => ValueKind::Mask,
            One::Sqrt
            | One::Round(_)
            | One::ShiftLeft(_)
            | One::ShiftRight(_)
            | One::Not
            | One::Upper(_) => self.kind(a),
        };
        let to = self.value(kind);
        self.code.push(Ins::One(op, to, a));
        to
    }

    pub(super) fn two(&mut self, op: Two, a: V, b: V) -> V {
        let to = self.value(self.kind(a));
        self.code.push(Ins::Two(op, to, a, b));
        to
    }

    pub(super) fn fused(&mut self, op: FusedOp, a: V, b: V, c: V) -> V {
        let to = self.value(self.kind(a));
        self.code.push(Ins::Fused(op, to, a, b, c));
        to
    }

    /// The kind of the masks that comparisons of a kind give: where masks have registers of their
    /// own there is one kind.
    fn mask_of(&self, kind: ValueKind) -> ValueKind {
        let half = self.isa == VectorIsa::Avx2 && kind == ValueKind::Narrow && self.unit == 8;
        if half { ValueKind::HalfMask } else { ValueKind::Mask }
    }

    /// A mask for lanes of a kind.
    pub(super) fn fit(&mut self, mask: V, kind: ValueKind) -> V {
        match (self.kind(mask), self.mask_of(kind)) {
            (ValueKind::Mask, ValueKind::HalfMask) => self.one(One::HalfMask, mask),
            (ValueKind::HalfMask, ValueKind::Mask) => self.one(One::FullMask, mask),
            _ => mask,
        }
    }

    /// A comparison of floats, as a mask for lanes of the same size.
    pub(super) fn compare_alike(&mut self, predicate: u8, a: V, b: V) -> V {
        let to = self.value(self.mask_of(self.kind(a)));
        self.code.push(Ins::Compare(predicate, to, a, b));
        to
    }

    pub(super) fn compare_int_alike(&mut self, how: IntCompare, a: V, b: V) -> V {
        let to = self.value(self.mask_of(self.kind(a)));
        self.code.push(Ins::CompareInt(how, to, a, b));
        to
    }

    /// A comparison of floats, as a mask for the largest lanes.
    pub(super) fn compare(&mut self, predicate: u8, a: V, b: V) -> V {
        let to = self.compare_alike(predicate, a, b);
        self.full(to)
    }

    pub(super) fn compare_int(&mut self, how: IntCompare, a: V, b: V) -> V {
        let to = self.compare_int_alike(how, a, b);
        self.full(to)
    }

    fn full(&mut self, mask: V) -> V {
        match self.kind(mask) {
            ValueKind::HalfMask => self.one(One::FullMask, mask),
            ValueKind::Mask | ValueKind::Wide | ValueKind::Narrow => mask,
        }
    }

    pub(super) fn choose(&mut self, mask: V, a: V, b: V) -> V {
        let kind = self.kind(a);
        if kind == ValueKind::Mask {
            let (yes, no) = (self.two(Two::And, mask, a), self.two(Two::AndNot, mask, b));
            return self.two(Two::Or, yes, no);
        }
        let mask = self.fit(mask, kind);
        let to = self.value(kind);
        self.code.push(Ins::Choose(to, mask, a, b));
        to
    }

    pub(super) fn keep(&mut self, mask: V, a: V) -> V {
        let kind = self.kind(a);
        let mask = self.fit(mask, kind);
        let to = self.value(kind);
        self.code.push(Ins::Keep(to, mask, a));
        to
    }

    pub(super) fn fixed(&mut self, holds: bool) -> V {
        let to = self.value(ValueKind::Mask);
        self.code.push(Ins::Fixed(to, holds));
        to
    }

    pub(super) fn splat(&mut self, kind: ValueKind, from: Int, plus: i64) -> V {
        let to = self.value(kind);
        self.code.push(Ins::Splat(to, from, plus));
        to
    }

    /// Both masks, where there are two.
    pub(super) fn both(&mut self, a: Option<V>, b: Option<V>) -> Option<V> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.two(Two::And, a, b)),
            (one, None) | (None, one) => one,
        }
    }
}
