//! A nest as loops of C.

use cotan_array::Dtype;
use cotan_nest::{Affine, BufferId, Instr, Nest, Val, Write};
use rustc_hash::FxHashSet;

use crate::affine::{self, index};
use crate::body::{Body, fuse_products, is_outside, summed_product};
use crate::literal::{of_bits, suffix, type_of};
use crate::order::{LANES, Shape};
use crate::scalar::Library;
use crate::writer::Writer;

/// Lanes of a block whose sums are made side by side. They stay in the first cache.
const BLOCK: usize = 64;

/// Writes the loops of a nest.
pub(crate) fn write_nest(
    nest: &Nest,
    in_order: bool,
    library: &mut Library,
    name: &dyn Fn(BufferId) -> String,
    w: &mut Writer,
) {
    let (mut nest, _) = nest.clone().collapse(None);
    let parallel = nest.extents.len() - nest.reduced;
    // Nothing to write to, or nowhere to write.
    let nowhere = is_outside(&nest, nest.write.index());
    if nest.extents[..parallel].contains(&0) || nowhere && nest.also.is_empty() {
        return;
    }
    if !in_order {
        fuse_products(&mut nest);
    }
    let nest = nest.without_dead();
    let shape = Shape::of(&nest, in_order);
    let product = if in_order { None } else { summed_product(&nest) };
    let write = |library: &mut Library, w: &mut Writer| {
        let body = Body { nest: &nest, library, name, kept: FxHashSet::default() };
        let mut loops =
            Loops { body, shape, product, parallel, dims: Vec::new(), level: Vec::new() };
        loops.order();
        match shape {
            Shape::Parallel(lane) if nest.reduced > 0 => loops.blocks(lane, w),
            Shape::Reduced(lane) => loops.lanes(lane, w),
            Shape::Parallel(_) | Shape::Plain => loops.plain(w),
        }
    };
    let limited = |instr: &Instr| matches!(instr, Instr::Op(op, _) if Library::has_limit(*op));
    if shape != Shape::Plain && nest.instrs.iter().any(limited) && can_run_again(&nest) {
        // Compilers make vectors of loops without branches. Should an argument turn out to be past the
        // limit of a formula, which is rare, everything is computed again.
        w.line("uint64_t far = 0;");
        library.set_near(true);
        write(library, w);
        library.set_near(false);
        w.open("if (far) {");
        write(library, w);
        w.close("}");
    } else {
        write(library, w);
    }
}

/// Whether a nest gives the same when it is run a second time: it reads nothing that it writes.
fn can_run_again(nest: &Nest) -> bool {
    let writes = |b: BufferId| b == nest.target || nest.also.iter().any(|also| also.target == b);
    !nest.write.scatters() && !nest.reads(writes)
}

struct Loops<'a> {
    body: Body<'a>,
    shape: Shape,
    /// The factors of what is summed, which may be rounded with the sum.
    product: Option<(Val, Val)>,
    /// How many dimensions are not reduced.
    parallel: usize,
    /// The dimensions, outermost first.
    dims: Vec<usize>,
    /// How many loops are around each instruction.
    level: Vec<usize>,
}

impl Loops<'_> {
    fn nest(&self) -> &Nest {
        self.body.nest
    }

    /// The order of the loops, and where instructions belong.
    fn order(&mut self) {
        let lane = match self.shape {
            Shape::Plain => None,
            Shape::Parallel(dim) | Shape::Reduced(dim) => Some(dim),
        };
        let count = self.nest().extents.len();
        let others = |from: usize, to: usize| (from..to).filter(move |&dim| Some(dim) != lane);
        let mut dims: Vec<usize> = others(0, self.parallel).collect();
        if let Shape::Parallel(lane) = self.shape {
            dims.push(lane);
        }
        dims.extend(others(self.parallel, count));
        if let Shape::Reduced(lane) = self.shape {
            dims.push(lane);
        }
        let depth = |dim: usize| dims.iter().position(|&d| d == dim).map_or(0, |at| at + 1);
        self.level = self.levels(&|dim| depth(dim));
        self.dims = dims;
    }

    /// The largest depth of the dimensions that each instruction depends on.
    fn levels(&self, depth: &dyn Fn(usize) -> usize) -> Vec<usize> {
        let of = |form: &Affine| {
            let dims = form.coeffs.iter().enumerate().filter(|(_, c)| **c != 0);
            dims.map(|(dim, _)| depth(dim)).max().unwrap_or(0)
        };
        let mut levels = vec![0usize; self.nest().instrs.len()];
        for (n, instr) in self.nest().instrs.iter().enumerate() {
            let mut level = match instr {
                Instr::Affine(form) => of(form),
                Instr::Load { at, checks, .. } => {
                    checks.iter().map(|(form, _)| of(form)).fold(of(at), usize::max)
                }
                Instr::Const(_) | Instr::LoadAt { .. } => 0,
                Instr::Op(..) | Instr::MulAdd { .. } => 0,
            };
            instr.for_each_operand(|v| level = level.max(levels[v.index()]));
            levels[n] = level;
        }
        levels
    }

    /// What is written, and what is needed for that.
    fn results(&self) -> Vec<Val> {
        let mut results = Vec::new();
        // The position of the only element is 0, whatever it is.
        let known = matches!(self.nest().write, Write::Extreme { .. }) && self.nest().reduced == 0;
        match self.product {
            _ if known => {}
            Some((a, b)) => results.extend([a, b]),
            None => results.push(self.nest().value),
        }
        results.extend(self.nest().also.iter().map(|also| also.value));
        results.extend(self.nest().write.index().iter().map(|c| c.value));
        results
    }

    /// Everything that is needed, in order.
    fn used(&self) -> Vec<Val> {
        self.body.needed(&self.results(), &|_| false)
    }

    fn define_level(&mut self, used: &[Val], level: usize, w: &mut Writer) {
        for &v in used.iter().filter(|v| self.level[v.index()] == level) {
            self.body.define(v, w);
        }
    }

    fn open(&self, dim: usize, w: &mut Writer) {
        let (i, extent) = (index(dim), self.nest().extents[dim]);
        w.open(format_args!("for (ptrdiff_t {i} = 0; {i} < {extent}; ++{i}) {{"));
    }

    /// All loops around one position.
    fn plain(&mut self, w: &mut Writer) {
        let used = self.used();
        self.define_level(&used, 0, w);
        let dims = self.dims.clone();
        for (depth, &dim) in dims.iter().enumerate() {
            if depth == self.parallel {
                self.begin_sum(w);
            }
            self.open(dim, w);
            self.define_level(&used, depth + 1, w);
        }
        if self.nest().reduced == 0 {
            self.body.store_also(w);
            self.store(w);
        } else {
            self.body.store_also(w);
            self.add_to_sum("s", w);
        }
        for depth in (0..dims.len()).rev() {
            w.close("}");
            if depth == self.parallel {
                self.store_sum("s", w);
            }
        }
    }

    fn write_place(&self) -> String {
        self.nest().write.place().map_or("0".into(), affine::place)
    }

    fn target(&self) -> String {
        (self.body.name)(self.nest().target)
    }

    /// Writes a value of a nest that reduces nothing.
    fn store(&mut self, w: &mut Writer) {
        let (to, value) = (self.target(), self.body.value(self.nest().value));
        let dtype = self.body.dtype(self.nest().value);
        let add = |library: &mut Library, at: &str| match dtype {
            Dtype::I64 => {
                library.need("i64_arithmetic");
                format!("{to}[{at}] = cotan_add_i64({to}[{at}], {value});")
            }
            Dtype::F64 | Dtype::F32 | Dtype::Bool => format!("{to}[{at}] += {value};"),
        };
        match &self.body.nest.write {
            // Nothing is reduced, so a sum is one of a single element, and such.
            Write::Store(at) | Write::Best { at, .. } => {
                w.line(format_args!("{to}[{}] = {value};", affine::place(at)));
            }
            Write::Sum(at) => {
                let at = affine::place(at);
                let zero = of_bits(0, dtype);
                match dtype {
                    Dtype::I64 => w.line(format_args!("{to}[{at}] = {value};")),
                    _ => w.line(format_args!("{to}[{at}] = {zero} + {value};")),
                }
            }
            Write::Extreme { at, .. } => {
                w.line(format_args!("{to}[{}] = 0;", affine::place(at)));
            }
            Write::Add { at, checks } => {
                let at = affine::place(at);
                let line = add(self.body.library, &at);
                if checks.is_empty() {
                    w.line(line);
                } else {
                    let extents = &self.body.nest.extents;
                    let checks = affine::checks(checks, extents, self.body.library);
                    w.open(format_args!("if ({checks})"));
                    w.line(line);
                    w.depart();
                }
            }
            Write::AddAt(parts) => {
                let (test, at) = self.body.computed(parts);
                w.open(format_args!("if ({test})"));
                let line = add(self.body.library, &at);
                w.line(line);
                w.depart();
            }
            Write::StoreAt(parts) => {
                let (test, at) = self.body.computed(parts);
                w.open(format_args!("if ({test})"));
                w.line(format_args!("{to}[{at}] = {value};"));
                w.depart();
            }
        }
    }

    /// What a reduction begins with.
    fn first(&mut self) -> String {
        let dtype = self.body.dtype(self.nest().value);
        match &self.body.nest.write {
            Write::Best { largest, .. } => {
                if dtype.is_float() {
                    self.body.library.need("constants");
                }
                match (dtype, largest) {
                    (Dtype::I64, true) => "INT64_MIN".into(),
                    (Dtype::I64, false) => "INT64_MAX".into(),
                    (Dtype::Bool, largest) => of_bits(u64::from(!largest), dtype),
                    (_, true) => format!("-cotan_inf_{}", suffix(dtype)),
                    (_, false) => format!("cotan_inf_{}", suffix(dtype)),
                }
            }
            _ => of_bits(0, dtype),
        }
    }

    fn begin_sum(&mut self, w: &mut Writer) {
        let (ty, first) = (type_of(self.body.dtype(self.nest().value)), self.first());
        w.line(format_args!("{ty} s = {first};"));
        if let Write::Extreme { .. } = self.nest().write {
            w.line("int64_t at = -1;");
        }
    }

    /// Lets a value join the sum `s`, or the best so far.
    fn add_to_sum(&mut self, s: &str, w: &mut Writer) {
        let dtype = self.body.dtype(self.nest().value);
        if let Some((a, b)) = self.product {
            self.body.library.need("mul_add");
            let (a, b) = (self.body.value(a), self.body.value(b));
            w.line(format_args!("{s} = cotan_mul_add_{}({a}, {b}, {s});", suffix(dtype)));
            return;
        }
        let v = self.body.value(self.nest().value);
        match &self.body.nest.write {
            Write::Best { largest, .. } => {
                let better = if *largest { ">" } else { "<" };
                match dtype.is_float() {
                    true => w.line(format_args!(
                        "{s} = (({v} {better} {s}) | ({v} != {v})) ? {v} : {s};"
                    )),
                    false => w.line(format_args!("{s} = {v} {better} {s} ? {v} : {s};")),
                }
            }
            Write::Extreme { largest, .. } => {
                let better = if *largest { ">" } else { "<" };
                let i = index(self.parallel);
                let at = s.replace('s', "at");
                let wins = match dtype.is_float() {
                    true => format!("(({v} {better} {s}) | ({v} != {v})) & ({s} == {s})"),
                    false => format!("{v} {better} {s}"),
                };
                w.open(format_args!("if ({at} < 0 || ({wins})) {{"));
                w.line(format_args!("{s} = {v};"));
                w.line(format_args!("{at} = {i};"));
                w.close("}");
            }
            _ if dtype == Dtype::I64 => {
                self.body.library.need("i64_arithmetic");
                w.line(format_args!("{s} = cotan_add_i64({s}, {v});"));
            }
            _ => w.line(format_args!("{s} += {v};")),
        }
    }

    fn store_sum(&mut self, s: &str, w: &mut Writer) {
        let (to, at) = (self.target(), self.write_place());
        match &self.nest().write {
            Write::Extreme { .. } => {
                let found = s.replace('s', "at");
                w.line(format_args!("{to}[{at}] = {found} < 0 ? 0 : {found};"));
            }
            _ => w.line(format_args!("{to}[{at}] = {s};")),
        }
    }

    /// Sums side by side: several accumulators, to which the positions of the innermost dimension go
    /// in turn.
    fn lanes(&mut self, lane: usize, w: &mut Writer) {
        let used = self.used();
        self.define_level(&used, 0, w);
        let dims = self.dims.clone();
        let dtype = self.body.dtype(self.nest().value);
        let width = if dtype == Dtype::F32 { 2 * LANES } else { LANES };
        let inner: usize = used.iter().filter(|v| self.level[v.index()] == dims.len()).count();
        let extent = self.nest().extents[lane];
        // Additions wait for each other, unless there is much to do besides.
        let sides = match inner {
            0..=8 => 4,
            9..=24 => 2,
            _ => 1,
        };
        let sides = sides.min(extent / width).max(1);
        let step = width * sides;
        self.body.library.need(if dtype == Dtype::F32 { "lanes_f32" } else { "lanes_f64" });
        for (depth, &dim) in dims.iter().enumerate() {
            if depth == self.parallel {
                let first = self.first();
                let ty = suffix(dtype);
                for side in 0..sides {
                    w.line(format_args!("cotan_lanes_{ty} s{side} = {{{{0}}}};"));
                    if first != of_bits(0, dtype) {
                        w.line(format_args!(
                            "for (int l = 0; l < {width}; ++l) s{side}.x[l] = {first};"
                        ));
                    }
                }
                w.line(format_args!("{} s = {first};", type_of(dtype)));
            }
            if dim != lane {
                self.open(dim, w);
                self.define_level(&used, depth + 1, w);
                continue;
            }
            let i = index(lane);
            let whole = extent / step * step;
            w.open(format_args!("for (ptrdiff_t j = 0; j < {whole}; j += {step}) {{"));
            for side in 0..sides {
                let first = if side == 0 { "j".into() } else { format!("j + {}", side * width) };
                // Choices among straight code are not made into vectors by gcc, those of a loop are.
                let rolled = match self.nest().write {
                    Write::Best { .. } => {
                        self.body.library.need("rolled");
                        "COTAN_ROLLED "
                    }
                    _ => "",
                };
                let lanes = format!("{rolled}for (int l = 0; l < {width}; ++l) {{");
                self.on_lanes(&lanes, lane, &first, w, |this, w| {
                    this.define_level(&used, depth + 1, w);
                    this.body.store_also(w);
                    this.add_to_sum(&format!("s{side}.x[l]"), w);
                });
            }
            w.close("}");
            if whole < extent {
                w.open(format_args!("for (ptrdiff_t {i} = {whole}; {i} < {extent}; ++{i}) {{"));
                self.define_level(&used, depth + 1, w);
                self.body.store_also(w);
                self.add_to_sum("s", w);
                w.close("}");
            }
        }
        // The loop over the lanes is closed already.
        for depth in (self.parallel..dims.len().saturating_sub(1)).rev() {
            let _ = depth;
            w.close("}");
        }
        self.fold_lanes(sides, width, dtype, w);
        self.store_sum("s", w);
        for _ in 0..self.parallel {
            w.close("}");
        }
    }

    /// A loop over lanes, in which the index of their dimension is known.
    fn on_lanes(
        &mut self,
        header: &str,
        lane: usize,
        first: &str,
        w: &mut Writer,
        inside: impl FnOnce(&mut Self, &mut Writer),
    ) {
        let mut body = w.nested(1);
        inside(self, &mut body);
        w.open(header);
        let i = index(lane);
        if body.mentions(&i) {
            w.line(format_args!("const ptrdiff_t {i} = {first} + l;"));
        }
        w.append(&body);
        w.close("}");
    }

    /// Makes one number of all accumulators.
    fn fold_lanes(&mut self, sides: usize, width: usize, dtype: Dtype, w: &mut Writer) {
        let ty = suffix(dtype);
        match &self.body.nest.write {
            Write::Best { largest, .. } => {
                let better = if *largest { ">" } else { "<" };
                for side in 0..sides {
                    w.open(format_args!("for (int l = 0; l < {width}; ++l) {{"));
                    w.line(format_args!("const {} v = s{side}.x[l];", type_of(dtype)));
                    w.line(format_args!("s = ((v {better} s) | (v != v)) ? v : s;"));
                    w.close("}");
                }
            }
            _ => {
                for side in 1..sides {
                    w.line(format_args!("s0 = cotan_lanes_add_{ty}(s0, s{side});"));
                }
                w.line(format_args!("s += cotan_lanes_sum_{ty}(s0);"));
            }
        }
    }

    /// Sums of a block of a dimension that is not reduced, side by side in memory.
    fn blocks(&mut self, lane: usize, w: &mut Writer) {
        let used = self.used();
        let on_lanes = self.levels(&|dim| usize::from(dim == lane));
        let on_lanes = |v: Val| on_lanes[v.index()] > 0;
        let dims = self.dims.clone();
        let (outer, inner) = dims.split_at(self.parallel);
        let dtype = self.body.dtype(self.nest().value);
        let extent = self.nest().extents[lane];
        // What is the same for all lanes, in its loop.
        let uniform = |this: &mut Self, level: usize, w: &mut Writer| {
            for &v in used.iter().filter(|&&v| this.level[v.index()] == level && !on_lanes(v)) {
                this.body.define(v, w);
            }
        };
        uniform(self, 0, w);
        for (depth, &dim) in outer[..self.parallel - 1].iter().enumerate() {
            self.open(dim, w);
            uniform(self, depth + 1, w);
        }
        w.open(format_args!("for (ptrdiff_t j = 0; j < {extent}; j += {BLOCK}) {{"));
        let count = match extent {
            ..=BLOCK => extent.to_string(),
            _ if extent.is_multiple_of(BLOCK) => BLOCK.to_string(),
            _ => {
                w.line(format_args!(
                    "const ptrdiff_t count = {extent} - j < {BLOCK} ? {extent} - j : {BLOCK};"
                ));
                "count".into()
            }
        };
        let lanes = format!("for (ptrdiff_t l = 0; l < {count}; ++l) {{");
        let (ty, first) = (type_of(dtype), self.first());
        let best = matches!(self.nest().write, Write::Extreme { .. });
        w.line(format_args!("{ty} s[{BLOCK}];"));
        if best {
            w.line(format_args!("int64_t at[{BLOCK}];"));
        }
        w.open(&lanes);
        w.line(format_args!("s[l] = {first};"));
        if best {
            w.line("at[l] = -1;");
        }
        w.close("}");
        // What is dear and does not depend on the loops inside is kept for each lane.
        for depth in self.parallel..=dims.len() {
            if depth > self.parallel {
                self.open(inner[depth - 1 - self.parallel], w);
                uniform(self, depth, w);
            }
            if depth < dims.len() {
                self.keep(&used, depth, &on_lanes, (&lanes, lane), w);
            }
        }
        let results = self.results();
        self.on_lanes(&lanes, lane, "j", w, |this, w| {
            this.define_lanes(&results, &on_lanes, w);
            this.body.store_also(w);
            this.add_to_sum("s[l]", w);
        });
        for _ in inner {
            w.close("}");
        }
        self.on_lanes(&lanes, lane, "j", w, |this, w| this.store_sum("s[l]", w));
        w.close("}");
        for _ in 1..self.parallel {
            w.close("}");
        }
    }

    /// Defines what a lane needs.
    fn define_lanes(&mut self, of: &[Val], on_lanes: &dyn Fn(Val) -> bool, w: &mut Writer) {
        let kept = &self.body.kept;
        let defined = |v: Val| !on_lanes(v) || kept.contains(&v);
        for v in self.body.needed(of, &defined) {
            self.body.define(v, w);
        }
    }

    /// Keeps the values of a loop that inner loops need and that are no mere reads, for every lane.
    fn keep(
        &mut self,
        used: &[Val],
        depth: usize,
        on_lanes: &dyn Fn(Val) -> bool,
        (lanes, lane): (&str, usize),
        w: &mut Writer,
    ) {
        let nest = self.body.nest;
        let dear = |v: &Val| match &nest.instrs[v.index()] {
            Instr::Const(_) | Instr::Affine(_) => false,
            Instr::Load { checks, .. } => !checks.is_empty(),
            Instr::LoadAt { .. } | Instr::Op(..) | Instr::MulAdd { .. } => true,
        };
        let here = |v: Val| self.level[v.index()] == depth && on_lanes(v);
        // Those that something of a deeper loop uses.
        let mut wanted: FxHashSet<Val> = FxHashSet::default();
        for &user in used.iter().filter(|v| self.level[v.index()] > depth) {
            nest.instrs[user.index()].for_each_operand(|v| {
                wanted.insert(v);
            });
        }
        wanted.extend(self.results());
        let mut kept: Vec<Val> = wanted.into_iter().filter(|&v| here(v)).filter(dear).collect();
        kept.sort_unstable();
        if kept.is_empty() {
            return;
        }
        for v in &kept {
            w.line(format_args!("{} k{}[{BLOCK}];", type_of(nest.dtypes[v.index()]), v.0));
        }
        self.on_lanes(lanes, lane, "j", w, |this, w| {
            this.define_lanes(&kept, on_lanes, w);
            for v in &kept {
                w.line(format_args!("k{0}[l] = v{0};", v.0));
            }
        });
        self.body.kept.extend(kept);
    }
}
