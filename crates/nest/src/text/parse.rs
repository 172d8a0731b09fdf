//! Reading plans.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use cotan_array::{Array, ArrayError, Dtype, Element, Shape};
use cotan_ir::{Extreme, Routine};
use rustc_hash::FxHashMap;

use super::line::{Line, lines};
use crate::draft::Draft;
use crate::nest::{BufferId, Nest};
use crate::packed::Packed;
use crate::plan::{Branches, Buffer, Loop, Plan, Role, Step, WhileStep};
use crate::routine::{Cells, RoutineStep, family, fewest, is_read};
use crate::segment::{SegmentStep, Strided};

/// Blocks within blocks: more are refused.
const MAX_DEPTH: usize = 200;

/// Words that name no buffer.
const RESERVED: [&str; 20] = [
    "for", "sum", "over", "nest", "scalars", "contract", "loop", "while", "if", "else", "return",
    "true", "false", "inf", "nan", "position", "largest", "smallest", "row", "column",
];

/// What is wrong with the text of a plan, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

pub(super) type R<T> = Result<T, ParseError>;

impl FromStr for Plan {
    type Err = ParseError;

    fn from_str(text: &str) -> R<Plan> {
        let lines = lines(text)?;
        let end = ParseError {
            line: text.lines().count().max(1),
            column: 1,
            message: "a plan ends with `return` and the buffers of its results".to_owned(),
        };
        let mut parser =
            Parser { lines, at: 0, names: FxHashMap::default(), buffers: Vec::new(), end };
        parser.declarations()?;
        let steps = parser.steps(0)?;
        let mut line = parser.line(0)?;
        line.expect_word("return")?;
        let mut outputs = Vec::new();
        while line.peek().is_some() {
            outputs.push(parser.name(&mut line)?);
            if !line.eat(",") {
                break;
            }
        }
        line.end()?;
        match parser.lines.get(parser.at) {
            Some(line) => Err(line.error("nothing comes after `return`")),
            None => Ok(Plan { buffers: parser.buffers, steps, outputs }),
        }
    }
}

pub(super) struct Parser<'a> {
    lines: Vec<Line<'a>>,
    /// The next line.
    at: usize,
    names: FxHashMap<&'a str, BufferId>,
    pub(super) buffers: Vec<Buffer>,
    /// What to say where the text ends too early.
    end: ParseError,
}

impl<'a> Parser<'a> {
    /// The next line, if it is so deep.
    pub(super) fn peek(&self, depth: usize) -> Option<Line<'a>> {
        self.lines.get(self.at).filter(|line| line.depth == depth).cloned()
    }

    /// Goes on behind the next line, which must be so deep.
    pub(super) fn line(&mut self, depth: usize) -> R<Line<'a>> {
        let Some(line) = self.lines.get(self.at) else { return Err(self.end.clone()) };
        if line.depth != depth {
            return Err(line.error(format!("a line {} spaces deep is expected here", 2 * depth)));
        }
        self.at += 1;
        Ok(line.clone())
    }

    /// Goes on behind a line of one word, if it is next.
    fn eat_head(&mut self, depth: usize, word: &str) -> R<bool> {
        let Some(mut line) = self.peek(depth) else { return Ok(false) };
        if !line.eat_word(word) {
            return Ok(false);
        }
        line.end()?;
        self.at += 1;
        Ok(true)
    }

    /// A buffer by its name.
    pub(super) fn name(&self, line: &mut Line<'a>) -> R<BufferId> {
        let before = line.clone();
        let word = line.word("the name of a buffer")?;
        let known = self.names.get(word).copied();
        known.ok_or_else(|| before.error(format!("there is no buffer `{word}`")))
    }

    fn declarations(&mut self) -> R<()> {
        while let Some(mut line) = self.peek(0) {
            let before = line.clone();
            let Some(name) = line.peek() else { break };
            line.expect_word(name)?;
            if !line.eat(":") {
                break;
            }
            let is_index = name.strip_prefix('i').is_some_and(|n| n.parse::<usize>().is_ok());
            if RESERVED.contains(&name) || is_index {
                return Err(before.error(format!("`{name}` cannot name a buffer")));
            }
            if self.names.insert(name, BufferId(self.buffers.len() as u32)).is_some() {
                return Err(before.error(format!("there are two buffers `{name}`")));
            }
            let buffer = buffer(&mut line)?;
            line.end()?;
            self.buffers.push(buffer);
            self.at += 1;
        }
        Ok(())
    }

    /// The steps of a block.
    fn steps(&mut self, depth: usize) -> R<Vec<Step<Nest>>> {
        let mut steps = Vec::new();
        while let Some(mut line) = self.peek(depth) {
            if depth > MAX_DEPTH {
                return Err(line.error(format!("blocks are at most {MAX_DEPTH} deep")));
            }
            match line.peek() {
                Some("return" | "else" | "do" | "test") => break,
                _ => steps.push(self.step(depth)?),
            }
        }
        match self.lines.get(self.at) {
            Some(line) if line.depth > depth => Err(line.error("this is deeper than its block")),
            _ => Ok(steps),
        }
    }

    fn step(&mut self, depth: usize) -> R<Step<Nest>> {
        let mut line = self.line(depth)?;
        let step = match line.peek() {
            Some("nest") => {
                line.expect_word("nest")?;
                line.end()?;
                Step::Compute(Box::new(self.nest(depth + 1)?))
            }
            Some("scalars") => {
                line.expect_word("scalars")?;
                line.end()?;
                let nest = self.nest(depth + 1)?;
                let packed = Packed::pack(&nest).ok_or_else(|| {
                    line.error("scalars have no loops, few instructions, and no computed places")
                })?;
                Step::Scalars(Box::new(packed))
            }
            Some("contract") => Step::Contract(Box::new(self.contract(line, depth)?)),
            Some("loop") => {
                line.expect_word("loop")?;
                line.expect_word("of")?;
                let length = line.count()?;
                line.expect_word("steps")?;
                let reverse = line.eat(",");
                if reverse {
                    ["last", "to", "first"].iter().try_for_each(|word| line.expect_word(word))?;
                }
                line.end()?;
                let mut body = self.body(depth + 1)?;
                (body.length, body.reverse) = (length, reverse);
                Step::Loop(Box::new(body))
            }
            Some("while") => {
                line.expect_word("while")?;
                let condition = self.name(&mut line)?;
                let bound = match line.eat(",") {
                    false => None,
                    true => {
                        line.expect_word("at")?;
                        line.expect_word("most")?;
                        let bound = line.count()?;
                        line.expect_word("times")?;
                        Some(bound)
                    }
                };
                line.end()?;
                self.line(depth + 1)?.expect_word("test")?;
                let before = self.steps(depth + 2)?;
                let body = self.body(depth + 1)?;
                Step::While(Box::new(WhileStep { bound, before, condition, body }))
            }
            Some("if") => {
                line.expect_word("if")?;
                let condition = self.name(&mut line)?;
                line.end()?;
                let then = self.steps(depth + 1)?;
                let otherwise = match self.eat_head(depth, "else")? {
                    true => self.steps(depth + 1)?,
                    false => Vec::new(),
                };
                Step::If(Box::new(Branches { condition, then, otherwise }))
            }
            Some("routine") => {
                let step = self.routine(&mut line)?;
                line.end()?;
                step
            }
            _ => {
                let to = self.name(&mut line)?;
                line.expect("=")?;
                let step = self.assigned(to, &mut line)?;
                line.end()?;
                step
            }
        };
        Ok(step)
    }

    /// What a whole buffer becomes.
    fn assigned(&self, to: BufferId, line: &mut Line<'a>) -> R<Step<Nest>> {
        if line.eat("0") {
            return Ok(Step::Zero(to));
        }
        let before = line.clone();
        Ok(match line.word("`0`, `copy`, `argsort`, `segment_argmax` or `segment_argmin`")? {
            "copy" => Step::Copy { from: self.name(line)?, to },
            "argsort" => {
                let from = self.name(line)?;
                line.expect_word("using")?;
                Step::ArgSort { from, to, room: self.name(line)? }
            }
            which @ ("segment_argmax" | "segment_argmin") => {
                let extreme = if which == "segment_argmax" { Extreme::Max } else { Extreme::Min };
                let keys = if line.eat_word("row") { None } else { Some(self.strided(line)?) };
                line.expect_word("of")?;
                let dtype = line.dtype()?;
                line.expect_word("by")?;
                let ids = self.strided(line)?;
                let mut sizes = [0; 3];
                for (n, word) in ["row", "column", "segment"].into_iter().enumerate() {
                    if n == 0 {
                        line.expect_word("for")?
                    } else {
                        line.expect(",")?
                    };
                    line.expect_word(word)?;
                    line.expect("<")?;
                    sizes[n] = line.count()?;
                }
                let [rows, columns, segments] = sizes;
                let step = SegmentStep { extreme, keys, dtype, ids, to, rows, columns, segments };
                Step::SegmentArg(Box::new(step))
            }
            _ => return Err(before.error("`0`, `copy`, `argsort` or `segment_arg..` is expected")),
        })
    }

    /// `routine cholesky of f64 (a[3 row + 1 column + []]) to (b) for [], 3 rows, 3 columns using c`
    fn routine(&self, line: &mut Line<'a>) -> R<Step<Nest>> {
        line.expect_word("routine")?;
        let before = line.clone();
        let name = line.word("the name of a routine")?;
        let routine =
            Routine::from_name(name).ok_or_else(|| before.error("a routine is expected"))?;
        line.expect_word("of")?;
        let dtype = line.dtype()?;
        let (mut operands, mut results) = (Vec::new(), Vec::new());
        line.expect("(")?;
        while !line.eat(")") {
            if !operands.is_empty() {
                line.expect(",")?;
            }
            let buffer = self.name(line)?;
            line.expect("[")?;
            let row = line.count()?;
            line.expect_word("row")?;
            line.expect("+")?;
            let column = line.count()?;
            line.expect_word("column")?;
            line.expect("+")?;
            let batch = counts(line)?;
            line.expect("]")?;
            operands.push(Cells { buffer, batch, row, column });
        }
        line.expect_word("to")?;
        line.expect("(")?;
        while !line.eat(")") {
            if !results.is_empty() {
                line.expect(",")?;
            }
            results.push(self.name(line)?);
        }
        line.expect_word("for")?;
        let batch = counts(line)?;
        line.expect(",")?;
        let rows = line.count()?;
        line.expect_word("rows")?;
        line.expect(",")?;
        let columns = line.count()?;
        line.expect_word("columns")?;
        line.expect_word("using")?;
        let room = self.name(line)?;
        line.expect_word("of")?;
        let needed = line.count()?;
        let step =
            RoutineStep { routine, dtype, batch, rows, columns, operands, results, room, needed };
        let read = (0..routine.row().operands.len()).filter(|&n| is_read(routine, n)).count();
        let strides = step.operands.iter().all(|cells| cells.batch.len() == step.batch.len());
        let results = [fewest(routine), family(routine).len()];
        let whole = step.operands.len() == read && results.contains(&step.results.len());
        if !whole || !strides {
            return Err(line.error("other operands or results than the routine has"));
        }
        Ok(Step::Routine(Box::new(step)))
    }

    fn strided(&self, line: &mut Line<'a>) -> R<Strided> {
        let buffer = self.name(line)?;
        line.expect("[")?;
        let row = line.count()?;
        line.expect_word("row")?;
        line.expect("+")?;
        let column = line.count()?;
        line.expect_word("column")?;
        line.expect("]")?;
        Ok(Strided { buffer, row, column })
    }

    /// The states, arrays and steps of a loop.
    fn body(&mut self, depth: usize) -> R<Loop<Nest>> {
        let mut l = Loop {
            length: 0,
            reverse: false,
            states: Vec::new(),
            exchanged: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            collected: Vec::new(),
            steps: Vec::new(),
            schedule: (),
        };
        loop {
            let mut line = self.line(depth)?;
            let before = line.clone();
            match line.word("`state`, `part`, `collect`, `store` or `do`")? {
                "state" => {
                    let state = self.name(&mut line)?;
                    line.expect("=")?;
                    let init = self.name(&mut line)?;
                    line.expect_word("then")?;
                    l.states.push((init, state, self.name(&mut line)?));
                    let exchanged = line.eat(",");
                    if exchanged {
                        line.expect_word("exchanged")?;
                    }
                    l.exchanged.push(exchanged);
                }
                word @ ("part" | "collect") => {
                    let part = self.name(&mut line)?;
                    line.expect("=")?;
                    let whole = self.stepped(&mut line)?;
                    let list = if word == "part" { &mut l.inputs } else { &mut l.collected };
                    list.push((whole, part));
                }
                "store" => {
                    let whole = self.stepped(&mut line)?;
                    line.expect("=")?;
                    l.outputs.push((self.name(&mut line)?, whole));
                }
                "do" => {
                    line.end()?;
                    break;
                }
                _ => return Err(before.error("`state`, `part`, `collect`, `store` or `do`")),
            }
            line.end()?;
        }
        l.steps = self.steps(depth + 1)?;
        Ok(l)
    }

    /// `whole[step]`.
    fn stepped(&self, line: &mut Line<'a>) -> R<BufferId> {
        let whole = self.name(line)?;
        line.expect("[")?;
        line.expect_word("step")?;
        line.expect("]")?;
        Ok(whole)
    }

    fn contract(&mut self, mut line: Line<'a>, depth: usize) -> R<Draft> {
        line.expect_word("contract")?;
        line.expect_word("times")?;
        let factor = match line.constant()? {
            Some((bits, Dtype::F64)) => f64::from_bits(bits),
            _ => return Err(line.error("a number of type f64 is expected here")),
        };
        let finite = match line.eat(",") {
            false => [false, false],
            true => {
                let before = line.clone();
                let finite = match line.word("`left`, `right` or `both`")? {
                    "left" => [true, false],
                    "right" => [false, true],
                    "both" => [true, true],
                    _ => return Err(before.error("`left`, `right` or `both` is expected here")),
                };
                line.expect_word("finite")?;
                finite
            }
        };
        line.end()?;
        self.line(depth + 1)?.expect_word("core")?;
        let core = self.nest(depth + 2)?;
        self.line(depth + 1)?.expect_word("whole")?;
        let whole = self.nest(depth + 2)?;
        let after = match self.eat_head(depth + 1, "after")? {
            true => Some(self.nest(depth + 2)?),
            false => None,
        };
        Ok(Draft { core, factor, finite, whole, after })
    }
}

/// The role, type and shape of a buffer.
fn buffer(line: &mut Line<'_>) -> R<Buffer> {
    let before = line.clone();
    let role = line.word("the role of a buffer")?;
    let number = if role == "input" { line.count()? } else { 0 };
    let dtype = line.dtype()?;
    let shape = shape(line)?;
    let mut offset = || {
        line.expect_word("at")?;
        line.count()
    };
    let role = match role {
        "input" => Role::Input(number),
        "temporary" => Role::Temporary(offset()?),
        "local" => Role::Local(offset()?),
        "output" => Role::Output,
        "view" => Role::View,
        "constant" => {
            line.expect("=")?;
            Role::Constant(Arc::new(constant(line, dtype, &shape)?))
        }
        _ => {
            let roles = "`input`, `constant`, `temporary`, `local`, `output` or `view`";
            return Err(before.error(format!("{roles} is expected here")));
        }
    };
    Ok(Buffer::new(dtype, shape, role))
}

/// `[1, 2]`
fn counts(line: &mut Line<'_>) -> R<Box<[usize]>> {
    let mut counts = Vec::new();
    line.expect("[")?;
    while !line.eat("]") {
        if !counts.is_empty() {
            line.expect(",")?;
        }
        counts.push(line.count()?);
    }
    Ok(counts.into())
}

fn shape(line: &mut Line<'_>) -> R<Shape> {
    let before = line.clone();
    line.expect("[")?;
    let mut dims = Vec::new();
    while !line.eat("]") {
        if !dims.is_empty() {
            line.expect(",")?;
        }
        dims.push(line.count()?);
    }
    Shape::new("a plan", &dims).map_err(|error| before.error(error.to_string()))
}

/// The elements of a constant.
fn constant(line: &mut Line<'_>, dtype: Dtype, shape: &Shape) -> R<Array> {
    let before = line.clone();
    let mut bits: Vec<u64> = Vec::new();
    while bits.len() < shape.numel() {
        if !bits.is_empty() {
            line.expect(",")?;
        }
        let here = line.clone();
        bits.push(match (dtype, line.constant()?) {
            (_, Some((bits, found))) if found == dtype => bits,
            (Dtype::I64, None) => line.integer()? as u64,
            _ => return Err(here.error(format!("a number of type {dtype} is expected here"))),
        });
    }
    fn array<T: Element>(
        shape: &Shape,
        bits: Vec<u64>,
        of: impl Fn(u64) -> T,
    ) -> Result<Array, ArrayError> {
        Array::from_vec(shape.clone(), bits.into_iter().map(of).collect())
    }
    let array = match dtype {
        Dtype::F64 => array(shape, bits, f64::from_bits),
        Dtype::F32 => array(shape, bits, |bits| f32::from_bits(bits as u32)),
        Dtype::I64 => array(shape, bits, |bits| bits as i64),
        Dtype::Bool => array(shape, bits, |bits| bits != 0),
    };
    array.map_err(|error| before.error(error.to_string()))
}
