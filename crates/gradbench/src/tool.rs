//! The tool: what it answers to a message.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use cotan::RunOptions;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Outcome};
use crate::function::Program;
use crate::library::LibraryModule;
use crate::message::{Message, Runs};
use crate::serve::Options;

/// The most memory that a call may take.
const MAX_BYTES: u64 = 16 << 30;

/// Answers messages, and remembers what it has compiled.
pub(crate) struct Tool {
    options: Options,
    programs: FxHashMap<&'static str, Program>,
}

impl Tool {
    pub(crate) fn new(options: &Options) -> Tool {
        Tool { options: options.clone(), programs: FxHashMap::default() }
    }

    /// The reply to a line.
    pub(crate) fn answer(&mut self, line: &[u8]) -> Value {
        let message = match Message::parse(line) {
            Ok(message) => message,
            Err(failure) => return reply(Value::Null, Err(failure)),
        };
        let id = message.id();
        match message.kind() {
            "start" => json!({
                "id": id,
                "tool": "cotan",
                "config": {"version": env!("CARGO_PKG_VERSION"), "threads": self.options.threads},
            }),
            "define" => reply(id, self.guarded(|tool| tool.define(&message))),
            "evaluate" => reply(id, self.guarded(|tool| tool.evaluate(&message))),
            _ => json!({ "id": id }),
        }
    }

    /// Does the work; a panic, which is a fault of ours, is an answer like any other.
    fn guarded(
        &mut self,
        work: impl FnOnce(&mut Tool) -> Outcome<Map<String, Value>>,
    ) -> Outcome<Map<String, Value>> {
        catch_unwind(AssertUnwindSafe(|| work(self))).unwrap_or_else(|_| {
            self.programs.clear();
            Err(Failure::Internal("the tool panicked".to_owned()))
        })
    }

    /// The program of a module.
    fn program(&mut self, name: &str) -> Outcome<(&'static LibraryModule, &mut Program)> {
        let module = LibraryModule::find(name)?;
        if !self.programs.contains_key(module.name) {
            self.programs.insert(module.name, Program::new(module)?);
        }
        match self.programs.get_mut(module.name) {
            Some(program) => Ok((module, program)),
            None => Err(Failure::Internal("a program that was just inserted is gone".to_owned())),
        }
    }

    fn define(&mut self, message: &Message) -> Outcome<Map<String, Value>> {
        let begin = Instant::now();
        self.program(message.name("module")?)?;
        let mut fields = Map::new();
        fields.insert("timings".to_owned(), json!([timing("load", begin.elapsed())]));
        Ok(fields)
    }

    /// Compiles the function for the sizes of the input, runs it as often as the input says, and
    /// gives what the last run gave.
    fn evaluate(&mut self, message: &Message) -> Outcome<Map<String, Value>> {
        let options = RunOptions {
            threads: Some(self.options.threads),
            max_bytes: Some(MAX_BYTES),
            ..RunOptions::default()
        };
        let (module, program) = self.program(message.name("module")?)?;
        let function = module.function(message.name("function")?)?;
        let input = message.input()?;
        let runs = Runs::of(input)?;
        let arguments = program.arguments(function, input)?;
        let begin = Instant::now();
        let call = program.prepare(function, arguments)?;
        let mut results = Vec::new();
        call.rehearse(&options, &mut results)?;
        let mut timings = vec![timing("prepare", begin.elapsed())];
        let mut taken = Duration::ZERO;
        let mut count = 0;
        while !runs.enough(count, taken) {
            let begin = Instant::now();
            call.run_into(&options, &mut results)?;
            let elapsed = begin.elapsed();
            timings.push(timing("evaluate", elapsed));
            taken += elapsed;
            count += 1;
        }
        let mut fields = Map::new();
        fields.insert("output".to_owned(), program.output(function, call, results)?);
        fields.insert("timings".to_owned(), Value::Array(timings));
        Ok(fields)
    }
}

fn timing(name: &str, time: Duration) -> Value {
    let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    json!({"name": name, "nanoseconds": nanoseconds})
}

/// A reply that says whether it worked.
fn reply(id: Value, outcome: Outcome<Map<String, Value>>) -> Value {
    let mut fields = Map::new();
    fields.insert("id".to_owned(), id);
    fields.insert("success".to_owned(), Value::Bool(outcome.is_ok()));
    match outcome {
        Ok(more) => fields.extend(more),
        Err(failure) => {
            fields.insert("error".to_owned(), Value::String(failure.to_string()));
        }
    }
    Value::Object(fields)
}
