//! Sparse derivatives of programs: pattern, colours, program, and the entries in their order.

use cotan_ad::pattern::{DEFAULT_ENTRIES, Rows, dependences};
use cotan_array::{Array, Dtype, Shape};
use cotan_ir::{Error, Program, Result, Type};
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};

use crate::color::{Coloring, color_rows, color_star};
use crate::compress::Products;
use crate::looks::Looks;
use crate::pattern::Pattern;

/// Which derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All float results by some of the inputs. Rows and columns number the elements of results and
    /// inputs, one array after the other.
    Jacobian,
    /// The second derivative of one float scalar by some of the inputs.
    Hessian,
}

/// How the products are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Columns of one colour by forward mode.
    Forward,
    /// Rows of one colour by reverse mode.
    Reverse,
    /// Columns of one colour of a symmetric matrix.
    Symmetric,
}

/// What a product in reverse mode costs, as a multiple of one in forward mode: it computes the
/// function, too, and goes through it once more.
const REVERSE_COST: usize = 2;

/// A sparse derivative of a program.
#[derive(Clone, Debug)]
pub struct SparseDerivative {
    kind: Kind,
    /// The function in bulk operations.
    function: Program,
    /// What the pattern is the pattern of: the function, or its gradient.
    dependent: Program,
    wrt: Vec<usize>,
    limit: usize,
}

/// What is needed to compute a sparse derivative at arguments, made for some.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where the derivative has entries.
    pub pattern: Pattern,
    /// The number of products.
    pub colors: usize,
    /// How they are computed.
    pub mode: Mode,
    /// From the arguments of the function and [`Plan::extra`] to the values of the function (for a
    /// Jacobian) and the entries, product by product.
    pub program: Program,
    /// What the program takes besides the arguments of the function.
    pub extra: Vec<Array>,
    /// The number of results before the entries.
    values: usize,
    /// For each product where its entries belong; in order, if missing.
    order: Option<Vec<Vec<usize>>>,
    /// The arguments that decide the pattern, by position, as they were.
    decided: Vec<(usize, Array)>,
}

/// Where an entry is found: in which product, for which colour, at which element.
#[derive(Clone, Copy)]
struct Read {
    block: usize,
    color: u32,
    element: usize,
}

impl SparseDerivative {
    /// The derivative of a program by some of its inputs (by position; all float ones by default).
    pub fn new(source: &Program, kind: Kind, wrt: Option<&[usize]>) -> Result<SparseDerivative> {
        let function = Pipeline::new(&[Pass::BULK]).run(source)?;
        let float = |k: &usize| function.inputs()[*k].ty.dtype.is_float();
        let wrt = match wrt {
            Some(wrt) => wrt.to_vec(),
            None => (0..function.inputs().len()).filter(float).collect(),
        };
        let dependent = match kind {
            Kind::Jacobian => function.clone(),
            // (Its errors are those of the gradient: what has none has no Hessian.)
            Kind::Hessian => derive(&function, Derivative::Grad, Some(&wrt))?,
        };
        let made = SparseDerivative { kind, function, dependent, wrt, limit: DEFAULT_ENTRIES };
        made.check()?;
        Ok(made)
    }

    /// At most so many entries in the pattern of any array on the way.
    pub fn with_limit(mut self, entries: usize) -> SparseDerivative {
        self.limit = entries;
        self
    }

    fn check(&self) -> Result<()> {
        let name = self.name();
        for &k in &self.wrt {
            match self.function.inputs().get(k) {
                None => return Err(Error::type_error(name, format!("there is no argument {k}"))),
                Some(input) if !input.ty.dtype.is_float() => {
                    let message =
                        format!("cannot differentiate by `{}`, which is {}", input.name, input.ty);
                    let hint = "only f64 and f32 arguments have derivatives";
                    return Err(Error::type_error(name, message).with_hint(hint));
                }
                Some(_) => {}
            }
        }
        let results = self.result_types().into_iter().map(|(_, ty)| ty.dtype);
        let Some(first) = results.clone().next() else {
            let message = "the function has no result of floats, so it has no derivative";
            return Err(Error::type_error(name, message));
        };
        let arguments = self.wrt.iter().map(|&k| self.function.inputs()[k].ty.dtype);
        if results.chain(arguments).any(|other| other != first) {
            let message = "some of the results and of the arguments to differentiate by are f64, \
                           others f32: the entries of one matrix are of one type";
            let hint = "convert what the function takes or gives";
            return Err(Error::type_error(name, message).with_hint(hint));
        }
        Ok(())
    }

    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Jacobian => "sparse_jacobian",
            Kind::Hessian => "sparse_hessian",
        }
    }

    /// The float results of what the pattern is the pattern of, by position.
    fn result_types(&self) -> Vec<(usize, &Type)> {
        let outputs = self.dependent.outputs().iter().map(|o| self.dependent.ty(o.term));
        outputs.enumerate().filter(|(_, ty)| ty.dtype.is_float()).collect()
    }

    /// The program that computes the derivative at arguments like these. It serves others for which
    /// [`Plan::holds_at`] says so.
    pub fn plan(&self, inputs: &[Array]) -> Result<Plan> {
        let found = dependences(&self.dependent, inputs, &self.wrt, self.limit)?;
        let results = self.result_types();
        let rows: Vec<&Rows> = results.iter().map(|&(k, _)| &found.results[k]).collect();
        let size = |k: usize| self.function.inputs()[k].ty.shape.numel();
        let columns: usize = self.wrt.iter().map(|&k| size(k)).sum();
        let pattern = Pattern::new(Rows::joined(&rows), columns);
        let decided = found.decided_by.iter().enumerate().filter(|(_, decides)| **decides);
        let decided = decided.filter_map(|(k, _)| Some((k, inputs.get(k)?.clone()))).collect();

        let column_blocks: Vec<usize> = self.wrt.iter().map(|&k| size(k)).collect();
        let row_blocks: Vec<usize> = results.iter().map(|(_, ty)| ty.shape.numel()).collect();
        match self.kind {
            Kind::Hessian => {
                let pattern = pattern.symmetrised();
                let coloring = color_star(&pattern)?;
                self.symmetric(pattern, &coloring, &column_blocks, decided)
            }
            Kind::Jacobian => {
                let by_columns = color_rows(&pattern.transposed())?;
                let by_rows = color_rows(&pattern)?;
                let forward = by_columns.count <= by_rows.count * REVERSE_COST;
                if forward {
                    let read = |r: usize, c: usize| (by_columns.colors[c], r);
                    let blocks = (&column_blocks, &row_blocks);
                    self.compressed(Mode::Forward, pattern, &by_columns, blocks, read, decided)
                } else {
                    let read = |r: usize, c: usize| (by_rows.colors[r], c);
                    let blocks = (&row_blocks, &column_blocks);
                    self.compressed(Mode::Reverse, pattern, &by_rows, blocks, read, decided)
                }
            }
        }
    }

    fn symmetric(
        &self,
        pattern: Pattern,
        coloring: &Coloring,
        blocks: &Vec<usize>,
        decided: Vec<(usize, Array)>,
    ) -> Result<Plan> {
        let colors = &coloring.colors;
        // An entry is read in its row, unless another entry of the row has the same colour.
        let mut alone = vec![false; pattern.entries()];
        let mut met = vec![(usize::MAX, 0); coloring.count];
        for r in 0..pattern.shape().rows {
            let first = pattern.row_starts()[r];
            for (e, &c) in pattern.row(r).iter().enumerate() {
                let (row, entry) = met[colors[c as usize] as usize];
                if row == r {
                    alone[entry] = false;
                } else {
                    alone[first + e] = true;
                    met[colors[c as usize] as usize] = (r, first + e);
                }
            }
        }
        let shared = pattern.clone();
        let read = move |r: usize, c: usize| {
            let at = shared.row(r).binary_search(&(c as u32)).unwrap_or(0);
            match alone[shared.row_starts()[r] + at] {
                true => (colors[c], r),
                false => (colors[r], c),
            }
        };
        self.compressed(Mode::Symmetric, pattern, coloring, (blocks, blocks), read, decided)
    }

    /// The program for a colouring of the seeds; `read` says for which colour and at which element of
    /// the products an entry is found.
    fn compressed(
        &self,
        mode: Mode,
        pattern: Pattern,
        coloring: &Coloring,
        (seeds, products): (&Vec<usize>, &Vec<usize>),
        read: impl Fn(usize, usize) -> (u32, usize),
        decided: Vec<(usize, Array)>,
    ) -> Result<Plan> {
        let block_of = Blocks::new(products);
        let mut reads = Vec::with_capacity(pattern.entries());
        let mut looks = Looks::new("sparse");
        for r in 0..pattern.shape().rows {
            looks.after(pattern.row(r).len())?;
            for &c in pattern.row(r) {
                let (color, element) = read(r, c as usize);
                let (block, element) = block_of.find(element);
                reads.push(Read { block, color, element });
            }
        }
        let mut order: Vec<Vec<usize>> = vec![Vec::new(); products.len()];
        for (e, read) in reads.iter().enumerate() {
            order[read.block].push(e);
        }
        let derivative = match mode {
            Mode::Forward => Derivative::Jvp,
            Mode::Reverse => Derivative::Vjp,
            Mode::Symmetric => Derivative::Hvp,
        };
        let derivative = derive(&self.function, derivative, Some(&self.wrt))?;
        let values = derivative.outputs().len() - products.len();
        let program = Products {
            derivative: &derivative,
            inputs: self.function.inputs().len(),
            values,
            colors: coloring.count.max(1),
            entries: order.iter().map(Vec::len).collect(),
        };
        let mut extra = Vec::new();
        let mut first = 0;
        let shapes = derivative.inputs()[self.function.inputs().len()..].iter();
        for (input, &len) in shapes.zip(seeds) {
            let colors = coloring.colors[first..first + len].iter().map(|&c| i64::from(c));
            extra.push(Array::from_vec(input.ty.shape.clone(), colors.collect())?);
            first += len;
        }
        for block in &order {
            let shape = Shape::new("sparse", &[block.len()])?;
            let colors = block.iter().map(|&e| i64::from(reads[e].color)).collect();
            let elements = block.iter().map(|&e| reads[e].element as i64).collect();
            extra.push(Array::from_vec(shape.clone(), colors)?);
            extra.push(Array::from_vec(shape, elements)?);
        }
        let order = (order.len() > 1).then_some(order);
        let (colors, program) = (coloring.count, program.program()?);
        Ok(Plan { pattern, colors, mode, program, extra, values, order, decided })
    }
}

impl Plan {
    /// Whether the pattern is the same for these arguments.
    pub fn holds_at(&self, inputs: &[Array]) -> bool {
        self.decided.iter().all(|(k, before)| inputs.get(*k) == Some(before))
    }

    /// The positions of the arguments that decide the pattern.
    pub fn decided_by(&self) -> impl Iterator<Item = usize> {
        self.decided.iter().map(|(k, _)| *k)
    }

    /// The values of the function, and the entries in the order of the pattern, from what the program
    /// gave.
    pub fn assemble(&self, mut outputs: Vec<Array>) -> Result<(Vec<Array>, Array)> {
        let blocks = outputs.split_off(self.values.min(outputs.len()));
        let entries = match (&self.order, <[Array; 1]>::try_from(blocks)) {
            (None, Ok([entries])) => entries,
            (Some(order), Err(blocks)) => joined(order, &blocks, self.pattern.entries())?,
            _ => return Err(Error::internal("products that do not fit the pattern")),
        };
        Ok((outputs, entries))
    }
}

/// The elements of several vectors of one float type, each at its place.
fn joined(order: &[Vec<usize>], blocks: &[Array], len: usize) -> Result<Array> {
    let shape = Shape::new("sparse", &[len])?;
    macro_rules! join {
        ($t:ty) => {{
            let mut all = vec![<$t>::default(); len];
            for (places, block) in order.iter().zip(blocks) {
                for (&place, x) in places.iter().zip(block.to_vec::<$t>()?) {
                    all[place] = x;
                }
            }
            Array::from_vec(shape, all)?
        }};
    }
    Ok(match blocks.first().map(|block| block.dtype()) {
        Some(Dtype::F32) => join!(f32),
        _ => join!(f64),
    })
}

/// Which of several arrays an element belongs to.
struct Blocks(Vec<usize>);

impl Blocks {
    fn new(sizes: &[usize]) -> Blocks {
        let mut starts = Vec::with_capacity(sizes.len());
        let mut first = 0;
        for len in sizes {
            starts.push(first);
            first += len;
        }
        Blocks(starts)
    }

    /// The array, and the number of the element there.
    fn find(&self, element: usize) -> (usize, usize) {
        let block = self.0.partition_point(|&first| first <= element) - 1;
        (block, element - self.0[block])
    }
}

#[cfg(test)]
mod tests {
    use cotan_ir::scalar::Op;
    use cotan_ir::{Builder, ErrorKind, Output, Watch, within};

    use super::*;

    /// Differences of neighbours, `n` of them.
    fn differences(n: usize) -> SparseDerivative {
        let mut b = Builder::new();
        let ty = Type::new(Dtype::F64, Shape::new("test", &[n + 1]).unwrap());
        let x = b.input("x", ty).unwrap();
        let here = b.index_function(&[n], |_, is| Ok(vec![is[0]])).unwrap();
        let one = b.scalar(1i64).unwrap();
        let next = b.index_function(&[n], |b, is| Ok(vec![b.op(Op::Add, &[is[0], one])?])).unwrap();
        let (x, y) = (b.gather(x, here).unwrap(), b.gather(x, next).unwrap());
        let term = b.op(Op::Sub, &[y, x]).unwrap();
        let program = b.finish(vec![Output { name: String::new(), term }]).unwrap();
        SparseDerivative::new(&program, Kind::Jacobian, None).unwrap()
    }

    /// Patterns and colours of many rows look often enough whether to end, and end wherever they are
    /// told to.
    #[test]
    fn planning_ends_when_it_has_to() {
        let n = 1 << 17;
        let derivative = differences(n);
        let x = Array::full(Shape::new("test", &[n + 1]).unwrap(), 1.0).unwrap();
        let plan = |looks: usize| {
            let watch = Watch { looks: Some(looks), ..Watch::default() };
            within(watch, || derivative.plan(std::slice::from_ref(&x)))
        };
        let (mut enough, mut wanted) = (1, 0);
        while let Err(error) = plan(enough) {
            assert_eq!(error.kind(), ErrorKind::Deadline);
            (wanted, enough) = (enough, enough * 2);
        }
        // Each of two gathers and a difference makes as many rows; each colouring looks at all entries
        // once for each of the two rows in a column, in two orders at most; reading them off is one more.
        assert!(wanted >= 3 * n / (1 << 13), "{wanted} looks");
        for looks in [0, wanted / 2, wanted] {
            assert!(plan(looks).is_err(), "{looks}");
        }
        assert_eq!(plan(enough).unwrap().colors, 2);
    }
}
