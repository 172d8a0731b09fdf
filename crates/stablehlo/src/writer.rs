//! The text: lines of operations, and one function for each kind of operation that is used.

use std::fmt::{Display, Write};

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, Scalar};
use rustc_hash::FxHashMap;

use crate::value::{Along, Profile, Ty, Val, scalar_literal};

/// Writes operations, one a line.
#[derive(Default)]
pub(crate) struct Writer {
    text: String,
    indent: usize,
    next: usize,
    /// Where the user wrote what the lines are for.
    pub place: Option<String>,
    /// What transposed values are made of: the value, and the axes as in [`Writer::transpose`].
    transposed: FxHashMap<String, (Val, Vec<usize>)>,
    /// What repeated values are made of, as in [`Writer::broadcast`].
    repeated: FxHashMap<String, (Val, Vec<usize>)>,
    /// What arrays are computed of, element by element.
    made: FxHashMap<String, (Op, Vec<Val>)>,
}

/// A loop that is being written.
pub(crate) struct Loop {
    name: String,
    pub inside: Vec<Val>,
}

/// A list as `1, 2, 3`.
pub(crate) fn list<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for (n, item) in items.into_iter().enumerate() {
        if n > 0 {
            text.push_str(", ");
        }
        // Writing to a string does not fail.
        let _ = write!(text, "{item}");
    }
    text
}

/// The types of values, as a list.
pub(crate) fn types<'a>(values: impl IntoIterator<Item = &'a Val>) -> String {
    list(values.into_iter().map(|v| &v.ty))
}

impl Writer {
    pub fn finish(self) -> String {
        self.text
    }

    /// A line without a place.
    pub fn bare(&mut self, line: impl Display) {
        let _ = writeln!(self.text, "{:1$}{line}", "", 2 * self.indent);
    }

    /// A line, with the place in a comment.
    pub fn line(&mut self, line: impl Display) {
        match self.place.clone() {
            Some(place) => self.bare(format_args!("{line} // {place}")),
            None => self.bare(line),
        }
    }

    /// Ends the line that opens a block; what follows is indented.
    pub fn open(&mut self, line: impl Display) {
        self.line(line);
        self.indent += 1;
    }

    /// A line that ends a block and begins the next.
    pub fn turn(&mut self, line: impl Display) {
        self.indent = self.indent.saturating_sub(1);
        self.bare(line);
        self.indent += 1;
    }

    pub fn close(&mut self, line: impl Display) {
        self.indent = self.indent.saturating_sub(1);
        self.bare(line);
    }

    /// The name of a new value.
    pub fn fresh(&mut self) -> String {
        self.next += 1;
        format!("%{}", self.next)
    }

    /// `%n = body`, of one result.
    pub fn define(&mut self, ty: Ty, body: impl Display) -> Val {
        let name = self.fresh();
        self.line(format_args!("{name} = {body}"));
        Val::new(name, ty)
    }

    /// The results of an operation with several: `%n#0`, `%n#1`.
    pub fn results(&mut self, name: &str, types: &[Ty]) -> Vec<Val> {
        let of = |(n, ty): (usize, &Ty)| match types.len() {
            1 => Val::new(name, ty.clone()),
            _ => Val::new(format!("{name}#{n}"), ty.clone()),
        };
        types.iter().enumerate().map(of).collect()
    }

    /// How an operation with so many results is defined: `%n` or `%n:2`.
    pub fn definition(&mut self, name: &str, count: usize) -> String {
        if count == 1 { name.to_owned() } else { format!("{name}:{count}") }
    }

    /// `return` of a function.
    pub fn returned(&mut self, values: &[Val]) {
        match values.is_empty() {
            true => self.bare("return"),
            false => self.bare(format_args!("return {} : {}", list(values), types(values))),
        }
    }

    /// The same values, of which nobody knows that they are the same.
    pub fn barrier(&mut self, values: &[Val]) -> Vec<Val> {
        if values.is_empty() {
            return Vec::new();
        }
        let name = self.fresh();
        let definition = self.definition(&name, values.len());
        let (names, kinds) = (list(values), types(values));
        self.line(format_args!("{definition} = stablehlo.optimization_barrier {names} : {kinds}"));
        let types: Vec<Ty> = values.iter().map(|v| v.ty.clone()).collect();
        self.results(&name, &types)
    }

    /// The results of another function.
    pub fn call(&mut self, function: &str, args: &[Val], kinds: &[Ty]) -> Vec<Val> {
        let name = self.fresh();
        let definition = self.definition(&name, kinds.len());
        let (names, from, to) = (list(args), types(args), list(kinds));
        self.line(format_args!(
            "{definition} = func.call @{function}({names}) : ({from}) -> ({to})"
        ));
        self.results(&name, kinds)
    }

    /// `return` of a block.
    pub fn give(&mut self, values: &[Val]) {
        self.bare(format_args!("stablehlo.return {} : {}", list(values), types(values)));
    }

    /// Begins a loop over these values, in the block of its condition; gives the values inside.
    /// [`Writer::turn`] begins its body.
    pub fn begin_while(&mut self, carried: &[Val]) -> Loop {
        let name = self.fresh();
        let inside: Vec<Val> =
            carried.iter().map(|v| Val::new(self.fresh(), v.ty.clone())).collect();
        let bindings = list(inside.iter().zip(carried).map(|(x, v)| format!("{x} = {v}")));
        let definition = self.definition(&name, carried.len());
        let kinds = types(carried);
        self.line(format_args!("{definition} = stablehlo.while({bindings}) : {kinds}"));
        self.indent += 1;
        self.open("cond {");
        Loop { name, inside }
    }

    /// Ends a loop; gives its results.
    pub fn end_while(&mut self, begun: &Loop) -> Vec<Val> {
        self.close("}");
        self.indent = self.indent.saturating_sub(1);
        let kinds: Vec<Ty> = begun.inside.iter().map(|v| v.ty.clone()).collect();
        self.results(&begun.name, &kinds)
    }

    // ---- constants ----------------------------------------------------------------------------

    /// Every element is `x`.
    pub fn fill(&mut self, x: Scalar, dims: &[usize]) -> Val {
        let dtype = match x {
            Scalar::F64(_) | Scalar::Fp(_) => Dtype::F64,
            Scalar::F32(_) => Dtype::F32,
            Scalar::I64(_) => Dtype::I64,
            Scalar::Bool(_) => Dtype::Bool,
        };
        let ty = Ty::new(dtype, dims);
        let literal = if ty.is_empty() { String::new() } else { scalar_literal(x) };
        let body = format!("stablehlo.constant dense<{literal}> : {ty}");
        Val { known: Some(x), ..self.define(ty, body) }
    }

    /// Zeros.
    pub fn zeros(&mut self, ty: &Ty) -> Val {
        self.fill(Scalar::zero(ty.dtype, false), &ty.dims)
    }

    /// A number in the float type and shape of `like`.
    pub fn real(&mut self, x: f64, like: &Val) -> Val {
        let x = match like.ty.dtype {
            Dtype::F32 => Scalar::F32(x as f32),
            Dtype::F64 | Dtype::I64 | Dtype::Bool => Scalar::F64(x),
        };
        self.fill(x, &like.ty.dims)
    }

    /// An integer in the shape of `like`.
    pub fn int(&mut self, x: i64, like: &Val) -> Val {
        self.fill(Scalar::I64(x), &like.ty.dims)
    }

    pub fn index(&mut self, x: usize) -> Val {
        self.fill(Scalar::I64(i64::try_from(x).unwrap_or(i64::MAX)), &[])
    }

    // ---- elementwise --------------------------------------------------------------------------

    pub fn unary(&mut self, op: &str, a: &Val) -> Val {
        self.define(a.ty.clone(), format_args!("stablehlo.{op} {a} : {}", a.ty))
    }

    /// Of the dialect of higher operations, which is decomposed before anything runs.
    pub fn higher(&mut self, op: &str, args: &[&Val]) -> Val {
        let ty = args.last().map_or(Ty::scalar(Dtype::F64), |v| v.ty.clone());
        let names = list(args);
        let types = list(args.iter().map(|v| &v.ty));
        self.define(ty.clone(), format_args!("chlo.{op} {names} : {types} -> {ty}"))
    }

    pub fn binary(&mut self, op: &str, a: &Val, b: &Val) -> Val {
        self.define(a.ty.clone(), format_args!("stablehlo.{op} {a}, {b} : {}", a.ty))
    }

    /// `EQ`, `NE`, `LT`, `LE`, `GT` or `GE`.
    pub fn compare(&mut self, direction: &str, a: &Val, b: &Val) -> Val {
        let kind = match a.ty.dtype {
            Dtype::F64 | Dtype::F32 => "FLOAT",
            Dtype::I64 => "SIGNED",
            Dtype::Bool => "UNSIGNED",
        };
        let ty = a.ty.with_dtype(Dtype::Bool);
        let body = format!(
            "stablehlo.compare {direction}, {a}, {b}, {kind} : ({}, {}) -> {ty}",
            a.ty, b.ty
        );
        let turned = match direction {
            "LT" => "GT",
            "LE" => "GE",
            "GE" => "LE",
            "GT" => "LT",
            same => same,
        };
        let along = match (a.along, b.integer(), b.along, a.integer()) {
            (Some(along), Some(with), _, _) => along.compared(direction, with),
            (_, _, Some(along), Some(with)) => along.compared(turned, with),
            _ => None,
        };
        Val { along, ..self.define(ty, body) }
    }

    /// `p` may be a scalar. By the position along an axis, it is a concatenation: what is not chosen is
    /// not computed.
    pub fn select(&mut self, p: &Val, a: &Val, b: &Val) -> Val {
        if let Some(Along { axis, what: Profile::Step { at, holds } }) = p.along
            && a.known.is_none()
            && b.known.is_none()
        {
            let size = a.ty.dims[axis];
            let at = usize::try_from(at.max(0)).unwrap_or(size).min(size);
            let (first, second) = if holds { (a, b) } else { (b, a) };
            let part = |w: &mut Self, x: &Val, from: usize, to: usize| {
                let mut ranges: Vec<_> = x.ty.dims.iter().map(|&k| (0, k, 1)).collect();
                ranges[axis] = (from, to, 1);
                w.slice(x, &ranges)
            };
            return match (at, size - at) {
                (0, _) => second.clone(),
                (_, 0) => first.clone(),
                _ => {
                    let parts = [part(self, first, 0, at), part(self, second, at, size)];
                    self.concatenate(&parts, axis)
                }
            };
        }
        let body = format_args!("stablehlo.select {p}, {a}, {b} : {}, {}", p.ty, a.ty);
        self.define(a.ty.clone(), body)
    }

    pub fn convert(&mut self, a: &Val, dtype: Dtype) -> Val {
        if a.ty.dtype == dtype {
            return a.clone();
        }
        self.arrow("convert", a, "", a.ty.with_dtype(dtype))
    }

    pub fn bitcast(&mut self, a: &Val, dtype: Dtype) -> Val {
        self.arrow("bitcast_convert", a, "", a.ty.with_dtype(dtype))
    }

    /// Where `a` is NaN.
    pub fn is_nan(&mut self, a: &Val) -> Val {
        self.compare("NE", a, a)
    }

    // ---- views --------------------------------------------------------------------------------

    /// An operation of one operand whose result has another type.
    fn arrow(&mut self, op: &str, a: &Val, how: &str, ty: Ty) -> Val {
        let body = format!("stablehlo.{op} {a}{how} : ({}) -> {ty}", a.ty);
        Val { known: None, ..self.define(ty, body) }
    }

    /// A view of the elements of `a`, so constants stay constants.
    fn view(&mut self, op: &str, a: &Val, how: &str, dims: &[usize]) -> Val {
        Val { known: a.known, ..self.arrow(op, a, how, a.ty.with_dims(dims)) }
    }

    /// Axis `n` of `a` becomes axis `axes[n]`.
    pub fn broadcast(&mut self, a: &Val, axes: &[usize], dims: &[usize]) -> Val {
        if a.ty.dims == dims && axes.iter().copied().eq(0..dims.len()) {
            return a.clone();
        }
        let along = a.along.filter(|along| a.ty.dims[along.axis] == dims[axes[along.axis]]);
        let along = along.map(|along| Along { axis: axes[along.axis], ..along });
        // A repetition of a repetition is one.
        let (source, own) = match self.repeated.get(&a.name).cloned() {
            Some((source, own)) => (source, own.iter().map(|&k| axes[k]).collect()),
            None => (a.clone(), axes.to_vec()),
        };
        let mut order: Vec<usize> = (0..own.len()).collect();
        order.sort_by_key(|&k| own[k]);
        let source = self.transpose(&source, &order);
        let own: Vec<usize> = order.iter().map(|&k| own[k]).collect();
        let how = format!(", dims = [{}]", list(&own));
        let found = self.view("broadcast_in_dim", &source, &how, dims);
        self.repeated.insert(found.name.clone(), (source, own));
        Val { along, known: a.known, ..found }
    }

    pub fn reshape(&mut self, a: &Val, dims: &[usize]) -> Val {
        if a.ty.dims == dims {
            return a.clone();
        }
        self.view("reshape", a, "", dims)
    }

    /// Axis `n` of the result is axis `axes[n]` of `a`.
    pub fn transpose(&mut self, a: &Val, axes: &[usize]) -> Val {
        if axes.iter().copied().eq(0..axes.len()) {
            return a.clone();
        }
        let dims: Vec<usize> = axes.iter().map(|&k| a.ty.dims[k]).collect();
        let place = |k: usize| axes.iter().position(|&other| other == k).unwrap_or(k);
        let along = a.along.map(|along| Along { axis: place(along.axis), ..along });
        // Of a repetition it is another repetition, and of a transpose another transpose.
        if let Some((source, own)) = self.repeated.get(&a.name).cloned() {
            let own: Vec<usize> = own.iter().map(|&k| place(k)).collect();
            let found = self.broadcast(&source, &own, &dims);
            return Val { along, known: a.known, ..found };
        }
        let (base, first) = self.untransposed(a);
        let axes: Vec<usize> = axes.iter().map(|&k| first[k]).collect();
        if axes.iter().copied().eq(0..axes.len()) {
            return base;
        }
        let how = format!(", dims = [{}]", list(&axes));
        let found = Val { along, ..self.view("transpose", &base, &how, &dims) };
        self.transposed.insert(found.name.clone(), (base, axes));
        found
    }

    /// What arguments of an elementwise operation are transposes of, if all are transposes in one way or
    /// can be made as cheaply in any order; and that way. So transposes move towards the results, and
    /// those in opposite ways meet.
    pub fn common_transpose(&mut self, args: &[Val]) -> Option<(Vec<Val>, Vec<usize>)> {
        let (base, axes) = args.iter().find_map(|a| self.transposed.get(&a.name))?.clone();
        let fits = |a: &Val| {
            let same = self.transposed.get(&a.name).is_some_and(|(_, other)| *other == axes);
            same || a.ty.rank() == 0 || a.known.is_some() || self.repeated.contains_key(&a.name)
        };
        if !args.iter().all(fits) {
            return None;
        }
        let dims = base.ty.dims;
        let place = |k: usize| axes.iter().position(|&other| other == k).unwrap_or(k);
        let back: Vec<usize> = (0..dims.len()).map(place).collect();
        let untransposed = args.iter().map(|a| match (a.known, a.ty.rank()) {
            (_, 0) => a.clone(),
            (Some(x), _) => self.fill(x, &dims),
            (None, _) => self.transpose(a, &back),
        });
        Some((untransposed.collect(), axes))
    }

    /// The value that another is a transpose of, itself if it is none, and the axes: axis `n` of the
    /// value is axis `axes[n]` of that.
    pub fn untransposed(&self, a: &Val) -> (Val, Vec<usize>) {
        match self.transposed.get(&a.name) {
            Some((source, axes)) => (source.clone(), axes.clone()),
            None => (a.clone(), (0..a.ty.rank()).collect()),
        }
    }

    /// The value that another is a repetition of, and its axes there, as in [`Writer::broadcast`].
    pub fn repetition(&self, a: &Val) -> Option<(Val, Vec<usize>)> {
        self.repeated.get(&a.name).cloned()
    }

    /// Remembers how an array is computed, element by element.
    pub fn note_operation(&mut self, a: &Val, op: Op, args: &[Val]) {
        if a.ty.rank() > 0 && a.known.is_none() {
            self.made.insert(a.name.clone(), (op, args.to_vec()));
        }
    }

    /// How an array is computed, element by element.
    pub fn operation(&self, a: &Val) -> Option<(Op, Vec<Val>)> {
        self.made.get(&a.name).cloned()
    }

    pub fn reverse(&mut self, a: &Val, axes: &[usize]) -> Val {
        if axes.is_empty() {
            return a.clone();
        }
        let body = format!("stablehlo.reverse {a}, dims = [{}] : {}", list(axes), a.ty);
        self.define(a.ty.clone(), body)
    }

    /// Along each axis the elements from, to (excluded), and how far apart.
    pub fn slice(&mut self, a: &Val, ranges: &[(usize, usize, usize)]) -> Val {
        let whole =
            |(&(from, to, by), &k): (&(usize, usize, usize), &usize)| (from, to, by) == (0, k, 1);
        if ranges.iter().zip(&a.ty.dims).all(whole) {
            return a.clone();
        }
        let dims: Vec<usize> =
            ranges.iter().map(|&(from, to, by)| (to - from).div_ceil(by)).collect();
        let how = list(ranges.iter().map(|(from, to, by)| format!("{from}:{to}:{by}")));
        self.view("slice", a, &format!(" [{how}]"), &dims)
    }

    /// The sub-array at a position along the outermost axis.
    pub fn row(&mut self, a: &Val, at: usize) -> Val {
        let mut ranges: Vec<_> = a.ty.dims.iter().map(|&k| (0, k, 1)).collect();
        ranges[0] = (at, at + 1, 1);
        let part = self.slice(a, &ranges);
        self.reshape(&part, &a.ty.dims[1..])
    }

    /// Along each axis the zeros before, after, and between any two elements. Negative numbers
    /// take elements away.
    pub fn pad(&mut self, a: &Val, widths: &[(i64, i64, i64)]) -> Val {
        if widths.iter().all(|&w| w == (0, 0, 0)) {
            return a.clone();
        }
        let size = |(&k, &(low, high, between)): (&usize, &(i64, i64, i64))| {
            let k = i64::try_from(k).unwrap_or(i64::MAX);
            usize::try_from(low + high + k + (k - 1).max(0) * between).unwrap_or(0)
        };
        let dims: Vec<usize> = a.ty.dims.iter().zip(widths).map(size).collect();
        let (ty, zero) = (a.ty.with_dims(&dims), self.zeros(&a.ty.element()));
        let part = |f: fn(&(i64, i64, i64)) -> i64| list(widths.iter().map(f));
        let body = format!(
            "stablehlo.pad {a}, {zero}, low = [{}], high = [{}], interior = [{}] : ({}, {}) -> {ty}",
            part(|w| w.0),
            part(|w| w.1),
            part(|w| w.2),
            a.ty,
            zero.ty
        );
        self.define(ty, body)
    }

    pub fn concatenate(&mut self, parts: &[Val], axis: usize) -> Val {
        let [first, rest @ ..] = parts else { return self.zeros(&Ty::scalar(Dtype::F64)) };
        if rest.is_empty() {
            return first.clone();
        }
        let mut ty = first.ty.clone();
        ty.dims[axis] = parts.iter().map(|p| p.ty.dims[axis]).sum();
        let (names, from) = (list(parts), types(parts));
        let body = format!("stablehlo.concatenate {names}, dim = {axis} : ({from}) -> {ty}");
        self.define(ty, body)
    }

    /// The position along an axis.
    pub fn iota(&mut self, axis: usize, dims: &[usize]) -> Val {
        let ty = Ty::new(Dtype::I64, dims);
        let along = Some(Along { axis, what: Profile::Position });
        Val { along, ..self.define(ty.clone(), format_args!("stablehlo.iota dim = {axis} : {ty}")) }
    }

    // ---- parts at computed places -------------------------------------------------------------

    /// The part of these sizes that begins at `starts`, moved into the array where it is not inside.
    pub fn dynamic_slice(&mut self, a: &Val, starts: &[Val], sizes: &[usize]) -> Val {
        let ty = a.ty.with_dims(sizes);
        let (names, kinds) = (list(starts), types(starts));
        let body = format!(
            "stablehlo.dynamic_slice {a}, {names}, sizes = [{}] : ({}, {kinds}) -> {ty}",
            list(sizes),
            a.ty
        );
        self.define(ty, body)
    }

    /// `a` with `part` at `starts`, moved into the array where it is not inside.
    pub fn dynamic_update_slice(&mut self, a: &Val, part: &Val, starts: &[Val]) -> Val {
        let (names, kinds) = (list(starts), types(starts));
        let body = format!(
            "stablehlo.dynamic_update_slice {a}, {part}, {names} : ({}, {}, {kinds}) -> {}",
            a.ty, part.ty, a.ty
        );
        self.define(a.ty.clone(), body)
    }

    // ---- reductions ---------------------------------------------------------------------------

    /// Folds axes away by an operation of two numbers.
    pub fn reduce(&mut self, op: &str, a: &Val, init: &Val, axes: &[usize]) -> Val {
        let (base, order) = self.untransposed(a);
        let kept: Vec<usize> = (0..a.ty.rank()).filter(|k| !axes.contains(k)).collect();
        if base.name != a.name {
            let axes: Vec<usize> = axes.iter().map(|&k| order[k]).collect();
            let gone = |k: usize| axes.iter().filter(|&&other| other < k).count();
            let order: Vec<usize> = kept.iter().map(|&k| order[k] - gone(order[k])).collect();
            let found = self.reduce(op, &base, init, &axes);
            return self.transpose(&found, &order);
        }
        let dims: Vec<usize> = kept.iter().map(|&k| a.ty.dims[k]).collect();
        let ty = a.ty.with_dims(&dims);
        let body = format!(
            "stablehlo.reduce({a} init: {init}) applies stablehlo.{op} across dimensions = [{}] : ({}, {}) -> {ty}",
            list(axes),
            a.ty,
            init.ty
        );
        self.define(ty, body)
    }

    /// The sum along axes.
    pub fn sum(&mut self, a: &Val, axes: &[usize]) -> Val {
        if axes.is_empty() {
            return a.clone();
        }
        let zero = self.zeros(&a.ty.element());
        self.reduce("add", a, &zero, axes)
    }

    /// Whether all of `p` hold.
    pub fn all(&mut self, p: &Val) -> Val {
        let init = self.fill(Scalar::Bool(true), &[]);
        let axes: Vec<usize> = (0..p.ty.rank()).collect();
        if axes.is_empty() { p.clone() } else { self.reduce("and", p, &init, &axes) }
    }
}
