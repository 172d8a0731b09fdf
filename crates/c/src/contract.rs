//! Sums of products as tiles that compilers keep in registers.
//!
//! Every dimension belongs to the rows (only the left operand depends on it), the columns (only the
//! right one), the depth (summed over) or the batch (the rest). For each block of the depth the right
//! operand is copied into panels of a few columns; the left one is read where it lies if the elements
//! along the depth have equal distances, else copied, too. A tile of some rows and a panel is summed by
//! a function of the runtime.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_nest::{Affine, BufferId, Draft, Instr, Nest, Write};
use cotan_schedule::TileShape;

use crate::affine;
use crate::literal::{of_bits, suffix, type_of};
use crate::nest::write_nest;
use crate::order::LANES;
use crate::scalar::Library;
use crate::writer::Writer;

/// Rows of a tile.
const ROWS: usize = 6;

/// The depth of a block: a panel and the rows of a tile stay in the first caches.
const DEPTH: usize = 256;

/// Sums of fewer rows are not worth a copy of the other operand.
const MIN_ROWS: usize = 4;

/// The tiles of doubles and of floats, as the runtime has them.
pub(crate) const TILES: [TileShape; 2] = [
    TileShape { lanes: LANES, rows: ROWS, columns: 2 * LANES, depth: DEPTH },
    TileShape { lanes: 2 * LANES, rows: ROWS, columns: 4 * LANES, depth: DEPTH },
];

/// Columns of a panel.
fn columns(dtype: Dtype) -> usize {
    TILES[usize::from(dtype == Dtype::F32)].columns
}

/// A load of an operand.
struct Operand<'a> {
    buffer: BufferId,
    at: &'a Affine,
    checks: &'a [(Affine, i64)],
}

impl Operand<'_> {
    fn depends(&self, dim: usize) -> bool {
        self.at.coeffs[dim] != 0 || self.checks.iter().any(|(form, _)| form.coeffs[dim] != 0)
    }
}

/// The products of a draft, sorted into groups of dimensions.
pub(crate) struct Tiles<'a> {
    nest: &'a Nest,
    place: &'a Affine,
    left: Operand<'a>,
    right: Operand<'a>,
    batch: Vec<usize>,
    rows: Vec<usize>,
    columns: Vec<usize>,
    depth: Vec<usize>,
    dtype: Dtype,
    factor: f64,
}

impl<'a> Tiles<'a> {
    /// The tiles of a draft, whose nest was collapsed; `None` if its nest is as good.
    pub(crate) fn of(draft: &Draft, nest: &'a Nest) -> Option<Tiles<'a>> {
        let Write::Sum(place) = &nest.write else { return None };
        let Instr::Op(Op::Mul, args) = &nest.instrs[nest.value.index()] else { return None };
        let load = |n: usize| match &nest.instrs[args.get(n)?.index()] {
            Instr::Load { buffer, at, checks } => Some(Operand { buffer: *buffer, at, checks }),
            Instr::Const(_) | Instr::Affine(_) | Instr::LoadAt { .. } => None,
            Instr::Op(..) | Instr::MulAdd { .. } => None,
        };
        let (left, right) = (load(0)?, load(1)?);
        let parallel = nest.extents.len() - nest.reduced;
        let mut groups: [Vec<usize>; 4] = Default::default();
        for dim in 0..nest.extents.len() {
            let group = match (left.depends(dim), right.depends(dim)) {
                _ if dim >= parallel => 3,
                (true, true) => 0,
                (true, false) => 1,
                (false, _) => 2,
            };
            groups[group].push(dim);
        }
        let [batch, rows, columns, depth] = groups;
        let dtype = nest.dtypes[nest.value.index()];
        let factor = draft.factor;
        let mut tiles =
            Tiles { nest, place, left, right, batch, rows, columns, depth, dtype, factor };
        let near = |dims: &[usize]| dims.iter().any(|&dim| place.coeffs[dim] == 1);
        let (m, n) = (tiles.count(&tiles.rows), tiles.count(&tiles.columns));
        // Columns are neighbours in the result, unless most of a panel would be empty.
        let swap = match (near(&tiles.rows), near(&tiles.columns)) {
            (true, false) => m >= n || m >= LANES,
            (false, true) => n < LANES && m >= 4 * n,
            _ => m > n && n < LANES,
        };
        if swap {
            std::mem::swap(&mut tiles.left, &mut tiles.right);
            std::mem::swap(&mut tiles.rows, &mut tiles.columns);
        }
        let total = tiles.nest.extents.iter().try_fold(1usize, |n, &k| n.checked_mul(k))?;
        let enough = tiles.count(&tiles.rows) >= MIN_ROWS && tiles.count(&tiles.columns) >= 4;
        (enough && total > 0).then_some(tiles)
    }

    fn count(&self, dims: &[usize]) -> usize {
        dims.iter().map(|&dim| self.nest.extents[dim]).product()
    }

    /// The depth of a block; a depth of several dimensions is not cut.
    fn block(&self) -> usize {
        match self.depth[..] {
            [dim] => self.nest.extents[dim].min(DEPTH),
            _ => self.count(&self.depth),
        }
    }

    /// Whether the left operand is read where it lies.
    fn direct(&self) -> bool {
        self.left.checks.is_empty() && self.depth.len() <= 1
    }

    fn panels(&self) -> usize {
        self.count(&self.columns).div_ceil(columns(self.dtype))
    }

    /// How many elements of room the copies of operands need.
    pub(crate) fn room(&self) -> usize {
        let left = if self.direct() { 0 } else { ROWS };
        let width = self.panels() * columns(self.dtype) + left;
        width.saturating_mul(self.block())
    }

    pub(crate) fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The part of a form that depends on some dimensions, without its constant.
    fn part(&self, form: &Affine, dims: &[usize]) -> Affine {
        let mut part = Affine::constant(0, form.coeffs.len());
        dims.iter().for_each(|&dim| part.coeffs[dim] = form.coeffs[dim]);
        part
    }

    /// Defines the indices of some dimensions from their common number.
    fn indices(&self, dims: &[usize], number: &str, w: &mut Writer) {
        let mut below = 1usize;
        for (n, &dim) in dims.iter().enumerate().rev() {
            let extent = self.nest.extents[dim];
            let mut text = number.to_owned();
            if below > 1 {
                text = format!("{text} / {below}");
            }
            if n > 0 {
                text = format!("{text} % {extent}");
            }
            w.line(format_args!("const ptrdiff_t {} = {text};", affine::index(dim)));
            below *= extent;
        }
    }

    /// Writes the loops; `pack` is the name of the room for copies.
    pub(crate) fn write(
        &self,
        library: &mut Library,
        name: &dyn Fn(BufferId) -> String,
        w: &mut Writer,
    ) {
        let (width, ty) = (columns(self.dtype), type_of(self.dtype));
        let (m, n) = (self.count(&self.rows), self.count(&self.columns));
        let (depth, block) = (self.count(&self.depth), self.block());
        library.need(if self.dtype == Dtype::F32 { "tile_f32" } else { "tile_f64" });
        let target = name(self.nest.target);
        for &dim in &self.batch {
            let i = affine::index(dim);
            let extent = self.nest.extents[dim];
            w.open(format_args!("for (ptrdiff_t {i} = 0; {i} < {extent}; ++{i}) {{"));
        }
        let blocked = block < depth;
        if blocked {
            w.open(format_args!("for (ptrdiff_t k0 = 0; k0 < {depth}; k0 += {block}) {{"));
        } else {
            w.open("{");
        }
        match depth % block {
            0 => w.line(format_args!("const ptrdiff_t depth = {block};")),
            _ => w.line(format_args!(
                "const ptrdiff_t depth = {depth} - k0 < {block} ? {depth} - k0 : {block};"
            )),
        }
        self.pack_right(name, (n, width), blocked, w);
        w.open(format_args!("for (ptrdiff_t row = 0; row < {m}; row += {ROWS}) {{"));
        let most = |count: usize, tile: usize, at: &str, name: &str, w: &mut Writer| {
            if count.is_multiple_of(tile) {
                w.line(format_args!("const ptrdiff_t {name} = {tile};"));
            } else {
                w.line(format_args!(
                    "const ptrdiff_t {name} = {count} - {at} < {tile} ? {count} - {at} : {tile};"
                ));
            }
        };
        most(m, ROWS, "row", "rows", w);
        self.rows_of_left(name, m, blocked, w);
        let panels = self.panels();
        w.open(format_args!("for (ptrdiff_t panel = 0; panel < {panels}; ++panel) {{"));
        w.line(format_args!("{ty} sums[{}];", ROWS * width));
        let step = match (self.direct(), &self.depth[..]) {
            (true, [dim]) => crate::literal::integer(self.left.at.coeffs[*dim]),
            _ => ROWS.to_string(),
        };
        let tile = format!("cotan_tile_{}", suffix(self.dtype));
        w.line(format_args!("{tile}(left, {step}, pack + panel * {width} * depth, depth, sums);"));
        w.line(format_args!("const ptrdiff_t column = panel * {width};"));
        most(n, width, "column", "columns", w);
        self.store(&target, width, blocked, w);
        for _ in 0..3 {
            w.close("}");
        }
        for _ in &self.batch {
            w.close("}");
        }
    }

    /// Copies a block of the right operand into panels, with zeros beside the last column.
    fn pack_right(
        &self,
        name: &dyn Fn(BufferId) -> String,
        (n, width): (usize, usize),
        blocked: bool,
        w: &mut Writer,
    ) {
        let panels = self.panels();
        w.open(format_args!("for (ptrdiff_t panel = 0; panel < {panels}; ++panel) {{"));
        w.line(format_args!(
            "{} *restrict to = pack + panel * {width} * depth;",
            type_of(self.dtype)
        ));
        if self.columns.len() > 1 || !self.right.checks.is_empty() {
            let first = format!("panel * {width}");
            self.copy(&self.right, &self.columns, (&first, n, width), name, blocked, w);
        } else {
            self.open_depth(blocked, w);
            w.open(format_args!("for (ptrdiff_t c = 0; c < {width}; ++c) {{"));
            w.line(format_args!("const ptrdiff_t column = panel * {width} + c;"));
            self.indices(&self.columns, "column", w);
            let load = format!("{}[{}]", name(self.right.buffer), affine::place(self.right.at));
            match n % width {
                0 => w.line(format_args!("*to++ = {load};")),
                _ => {
                    let zero = of_bits(0, self.dtype);
                    w.line(format_args!("*to++ = column < {n} ? {load} : {zero};"));
                }
            }
            w.close("}");
            self.close_depth(blocked, w);
        }
        w.close("}");
    }

    /// Copies `width` neighbours of an operand along some dimensions to `to`, for each position of the
    /// depth: those from `first` on, of `count` that there are. The last one stands for those that are
    /// not there.
    ///
    /// What the neighbours contribute to places and checks is computed once, before the depth.
    fn copy(
        &self,
        operand: &Operand<'_>,
        dims: &[usize],
        (first, count, width): (&str, usize, usize),
        name: &dyn Fn(BufferId) -> String,
        blocked: bool,
        w: &mut Writer,
    ) {
        let others: Vec<usize> =
            (0..self.nest.extents.len()).filter(|dim| !dims.contains(dim)).collect();
        let own = |form: &Affine| affine::place(&self.part(form, dims));
        let rest = |form: &Affine| {
            let mut rest = self.part(form, &others);
            rest.constant = form.constant;
            affine::place(&rest)
        };
        let along = |form: &Affine| dims.iter().any(|&dim| form.coeffs[dim] != 0);
        w.line(format_args!("ptrdiff_t at[{width}];"));
        let checks: Vec<_> = operand.checks.iter().enumerate().collect();
        for (k, _) in checks.iter().filter(|(_, (form, _))| along(form)) {
            w.line(format_args!("ptrdiff_t check{k}[{width}];"));
        }
        w.open(format_args!("for (ptrdiff_t c = 0; c < {width}; ++c) {{"));
        match count % width {
            0 => w.line(format_args!("const ptrdiff_t which = {first} + c;")),
            _ => w.line(format_args!(
                "const ptrdiff_t which = {first} + c < {count} ? {first} + c : {count} - 1;"
            )),
        }
        self.indices(dims, "which", w);
        w.line(format_args!("at[c] = {};", own(operand.at)));
        for (k, (form, _)) in checks.iter().filter(|(_, (form, _))| along(form)) {
            w.line(format_args!("check{k}[c] = {};", own(form)));
        }
        w.close("}");
        self.open_depth(blocked, w);
        w.line(format_args!("const ptrdiff_t base = {};", rest(operand.at)));
        let mut tests = Vec::with_capacity(checks.len());
        for (k, (form, size)) in &checks {
            w.line(format_args!("const ptrdiff_t base{k} = {};", rest(form)));
            let position =
                if along(form) { format!("(base{k} + check{k}[c])") } else { format!("base{k}") };
            tests.push(format!("((size_t){position} < {size})"));
        }
        w.open(format_args!("for (ptrdiff_t c = 0; c < {width}; ++c)"));
        let load = format!("{}[base + at[c]]", name(operand.buffer));
        match tests.is_empty() {
            true => w.line(format_args!("*to++ = {load};")),
            false => w.line(format_args!(
                "*to++ = ({}) ? {load} : {};",
                tests.join(" & "),
                of_bits(0, self.dtype)
            )),
        }
        w.depart();
        self.close_depth(blocked, w);
    }

    /// The loops over a block of the depth.
    fn open_depth(&self, blocked: bool, w: &mut Writer) {
        if let ([dim], true) = (&self.depth[..], blocked) {
            let i = affine::index(*dim);
            w.open(format_args!("for (ptrdiff_t {i} = k0; {i} < k0 + depth; ++{i}) {{"));
            return;
        }
        for &dim in &self.depth {
            let (i, extent) = (affine::index(dim), self.nest.extents[dim]);
            w.open(format_args!("for (ptrdiff_t {i} = 0; {i} < {extent}; ++{i}) {{"));
        }
    }

    fn close_depth(&self, blocked: bool, w: &mut Writer) {
        let loops = if blocked { 1 } else { self.depth.len() };
        (0..loops).for_each(|_| w.close("}"));
    }

    /// Points to the rows of a tile, or copies them; the last one stands for those that are not there.
    fn rows_of_left(
        &self,
        name: &dyn Fn(BufferId) -> String,
        m: usize,
        blocked: bool,
        w: &mut Writer,
    ) {
        let ty = type_of(self.dtype);
        w.line(format_args!("const {ty} *left[{ROWS}];"));
        if !self.direct() {
            let room = self.panels() * columns(self.dtype);
            w.line(format_args!("{ty} *const copy = pack + {room} * depth;"));
            w.open(format_args!("for (ptrdiff_t r = 0; r < {ROWS}; ++r)"));
            w.line("left[r] = copy + r;");
            w.depart();
            w.open("{");
            w.line(format_args!("{ty} *to = copy;"));
            self.copy(&self.left, &self.rows, ("row", m, ROWS), name, blocked, w);
            w.close("}");
            return;
        }
        w.open(format_args!("for (ptrdiff_t r = 0; r < {ROWS}; ++r) {{"));
        match m % ROWS {
            0 => w.line("const ptrdiff_t number = row + r;"),
            _ => w.line("const ptrdiff_t number = row + (r < rows ? r : rows - 1);"),
        }
        self.indices(&self.rows, "number", w);
        let mut at = self.left.at.clone();
        let mut first = String::new();
        for &dim in &self.depth {
            if blocked {
                first = format!(" + {} * k0", crate::literal::integer(at.coeffs[dim]));
            }
            at.coeffs[dim] = 0;
        }
        let (a, at) = (name(self.left.buffer), affine::place(&at));
        w.line(format_args!("left[r] = {a} + ({at}{first});"));
        w.close("}");
    }

    /// Puts the sums of a tile to their places.
    fn store(&self, target: &str, width: usize, blocked: bool, w: &mut Writer) {
        let ty = type_of(self.dtype);
        w.open("for (ptrdiff_t r = 0; r < rows; ++r) {");
        w.line("const ptrdiff_t number = row + r;");
        self.indices(&self.rows, "number", w);
        let mut outer = self.batch.clone();
        outer.extend(&self.rows);
        let mut base = self.part(self.place, &outer);
        base.constant = self.place.constant;
        w.line(format_args!("{ty} *restrict to = {target} + ({});", affine::place(&base)));
        w.open("for (ptrdiff_t c = 0; c < columns; ++c) {");
        w.line("const ptrdiff_t other = column + c;");
        self.indices(&self.columns, "other", w);
        let at = affine::place(&self.part(self.place, &self.columns));
        let factor = match (self.dtype, self.factor) {
            (_, 1.0) => String::new(),
            (Dtype::F32, factor) => format!("{} * ", crate::literal::float32(factor as f32)),
            (_, factor) => format!("{} * ", crate::literal::float64(factor)),
        };
        let sum = format!("{factor}sums[{width} * r + c]");
        if blocked {
            w.line(format_args!("to[{at}] = k0 == 0 ? {sum} : to[{at}] + {sum};"));
        } else {
            w.line(format_args!("to[{at}] = {sum};"));
        }
        w.close("}");
        w.close("}");
    }
}

/// Writes the products of a draft that has no tiles: the sums of its nest, times the factor.
pub(crate) fn write_sums(
    draft: &Draft,
    library: &mut Library,
    name: &dyn Fn(BufferId) -> String,
    w: &mut Writer,
) {
    let mut core = draft.core.clone();
    if draft.factor != 1.0 {
        // The factor joins the left operand: all of this is rounded as suits the machine.
        let dtype = core.dtypes[core.value.index()];
        let bits = match dtype {
            Dtype::F32 => u64::from((draft.factor as f32).to_bits()),
            _ => draft.factor.to_bits(),
        };
        let push = |nest: &mut Nest, instr: Instr| {
            nest.instrs.push(instr);
            nest.dtypes.push(dtype);
            cotan_nest::Val((nest.instrs.len() - 1) as u32)
        };
        let factor = push(&mut core, Instr::Const(bits));
        let value = core.value;
        core.value = push(&mut core, Instr::Op(Op::Mul, [value, factor].into_iter().collect()));
    }
    write_nest(&core, false, library, name, w);
}
