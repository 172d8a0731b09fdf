//! What generated programs may contain.

use cotan_array::Dtype;
use cotan_ir::scalar::{Domain, Field1, Field2, Op, Rule};

use super::Former;

/// A row of the scalar table at one of its typings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypedOp {
    /// The operation.
    pub op: Op,
    /// The element types of its arguments.
    pub args: Vec<Dtype>,
    /// The element type of its result.
    pub result: Dtype,
}

impl TypedOp {
    /// Every row at every typing.
    pub fn all() -> Vec<TypedOp> {
        let typed = |op: Op, args: Vec<Dtype>| {
            let result = op.result_dtype(&args)?;
            Some(TypedOp { op, args, result })
        };
        let typings = |op: Op| op.typings().into_iter().filter_map(move |args| typed(op, args));
        Op::all().flat_map(typings).collect()
    }

    fn takes_floats(&self) -> bool {
        self.args.iter().any(|d| d.is_float())
    }

    /// Whether the result depends smoothly on every float argument, within the row's domains, and
    /// the row's partial derivatives say how.
    pub fn is_smooth(&self) -> bool {
        let row = self.op.row();
        let kinked = matches!(self.op, Op::Abs | Op::Min | Op::Max);
        let steps = row.domains.contains(&Domain::BetweenSteps);
        let derivable = |(n, dtype): (usize, &Dtype)| {
            !dtype.is_float() || row.partials.get(n).is_some_and(|&partial| partial != "0")
        };
        let derivable = self.args.iter().enumerate().all(derivable) && self.op != Op::FromBits;
        let discrete = !self.takes_floats() && self.op != Op::FromBits;
        discrete || self.result.is_float() && derivable && !kinked && !steps
    }

    /// Whether the operation has a meaning in the field of the tests: an exact one, no stand-in.
    pub fn is_exact_in_field(&self) -> bool {
        let opaque = match self.op.row().rule {
            Rule::Numeric1(_, _, f) | Rule::Real1(_, f) => matches!(f, Field1::Opaque),
            Rule::Numeric2(_, _, f) | Rule::Real2(_, f) => matches!(f, Field2::Opaque),
            Rule::IntReal(_) | Rule::ToBits => true,
            Rule::RealInt(..) | Rule::Compare(_) | Rule::Select | Rule::Cast(_) => false,
            Rule::Logic1(..) | Rule::Logic2(..) | Rule::Int1(_) | Rule::Int2(_) => false,
            // The bits of an element of the field are made up, and so is what they stand for.
            Rule::FromBits => return false,
        };
        !(opaque && self.takes_floats())
    }

    /// Whether integers kept in floats go to integers kept in floats.
    pub fn keeps_integers(&self) -> bool {
        if self.op == Op::FromBits {
            return false;
        }
        if !self.takes_floats() || !self.result.is_float() {
            return true;
        }
        use Op::*;
        matches!(self.op, Add | Sub | Mul | Neg | Abs | Sign | Min | Max | Floor | Ceil)
            || matches!(self.op, Round | Trunc | Select | Scale | StopGradient | ToF64 | ToF32)
    }
}

/// Which constants and inputs a program is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Anything, also infinities, NaN and subnormal numbers.
    Special,
    /// Moderate numbers of both signs.
    Moderate,
    /// Small integers: sums and products are exact in floats, in whatever order.
    SmallIntegers,
}

/// What generated programs may contain, and how large they get.
#[derive(Clone, Debug)]
pub struct Config {
    /// The formers to use. Constants, inputs and variables are always there; checkpoints only if asked
    /// for, as they mean what is in them.
    pub formers: Vec<Former>,
    /// The scalar operations to use, each at the typings to use.
    pub ops: Vec<TypedOp>,
    /// The element types of results and inputs, each as likely as often it stands here.
    pub dtypes: Vec<Dtype>,
    /// About how many nodes to make; no more than twice as many are made.
    pub max_nodes: usize,
    /// The most inputs; more are declared only where a constant would not do.
    pub max_inputs: usize,
    /// The most outputs.
    pub max_outputs: usize,
    /// The most axes of an array.
    pub max_rank: usize,
    /// The most elements of an array.
    pub max_elements: usize,
    /// The longest axis. Most programs whose longest axis may be larger than 5 have one such size.
    pub max_size: usize,
    /// The deepest nesting of lambdas.
    pub max_nesting: usize,
    /// The most often an inner lambda runs, over all that are around it.
    pub max_trips: usize,
    /// In how many of a hundred places an existing term is used again.
    pub reuse: usize,
    /// In how many of a hundred reads a condition around the read asks whether it is in range.
    pub guarded_reads: usize,
    /// In how many of a hundred places a phrase is tried: several formers together, as people write
    /// them and rules wait for them.
    pub phrases: usize,
    /// In how many of a hundred places a loop is tried that changes parts of its state.
    pub updates: usize,
    /// Which constants to write.
    pub data: Data,
    /// Whether there may be Cholesky factors. In the field, roots are none.
    pub roots: bool,
    /// Whether there may be orthogonal factors, eigenvalues and singular values, which not every
    /// target has. They need roots.
    pub spectra: bool,
    /// Whether the results must depend smoothly on all float inputs. Partial operations get
    /// arguments from inside their domains.
    pub smooth: bool,
}

impl Default for Config {
    /// Everything.
    fn default() -> Config {
        use Dtype::{Bool, F32, F64, I64};
        Config {
            formers: Former::ALL.into_iter().filter(|&f| f != Former::Checkpoint).collect(),
            ops: TypedOp::all(),
            dtypes: vec![F64, F64, F64, F64, F32, F32, I64, I64, Bool],
            max_nodes: 40,
            max_inputs: 4,
            max_outputs: 3,
            max_rank: 4,
            max_elements: 120,
            max_size: 5,
            max_nesting: 4,
            max_trips: 250,
            reuse: 50,
            guarded_reads: 10,
            phrases: 0,
            updates: 0,
            data: Data::Special,
            roots: true,
            spectra: true,
            smooth: false,
        }
    }
}

impl Config {
    /// Programs that are smooth in their float inputs, for comparing derivatives.
    pub fn smooth() -> Config {
        let mut config = Config { data: Data::Moderate, smooth: true, ..Config::default() };
        // Its random rule is not the derivative.
        config.formers.retain(|&f| f != Former::Custom);
        config.ops.retain(TypedOp::is_smooth);
        config.dtypes = vec![Dtype::F64, Dtype::F64, Dtype::F64, Dtype::I64];
        config
    }

    /// Programs whose operations are exact in the field of the tests.
    pub fn ring() -> Config {
        let mut config = Config { data: Data::SmallIntegers, roots: false, ..Config::default() };
        config.formers.retain(|&f| f != Former::Custom);
        config.ops.retain(TypedOp::is_exact_in_field);
        config
    }

    /// Programs that compute on integers in floats without ever rounding, given inputs of
    /// [`crate::InputKind::SmallIntegers`]: see [`crate::exact`].
    pub fn integers() -> Config {
        let mut config = Config { data: Data::SmallIntegers, ..Config::default() };
        config.formers.retain(|&f| f != Former::Routine);
        config.ops.retain(TypedOp::keeps_integers);
        config
    }

    /// The same with axes of up to this size, and a dozen times as many elements.
    pub fn large(mut self, max_size: usize) -> Config {
        self.max_size = max_size;
        self.max_elements = max_size.saturating_mul(12);
        self.max_trips = max_size.saturating_mul(12);
        self
    }

    /// The same with checkpoints.
    pub fn with_checkpoints(mut self) -> Config {
        self.formers.push(Former::Checkpoint);
        self
    }

    /// The same without some formers.
    pub fn without(mut self, formers: &[Former]) -> Config {
        self.formers.retain(|f| !formers.contains(f));
        self
    }

    /// The same with programs of about this many nodes.
    pub fn nodes(mut self, max_nodes: usize) -> Config {
        self.max_nodes = max_nodes;
        self
    }

    /// Whether an operation may be used at a typing.
    pub(super) fn allows(&self, op: Op, args: &[Dtype]) -> bool {
        self.ops.iter().any(|row| row.op == op && row.args == args)
    }
}
