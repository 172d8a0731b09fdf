//! `docs/tour.md` shows what the stages do: every block of it is made again and compared.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

use std::borrow::Cow;
use std::fmt::Write;

use cotan_bot::{Options, Report, bulk, normal_form};
use cotan_interp::{Interp, Value};
use cotan_ir::{Program, SourceMap};
use cotan_pipeline::{Backend, CompileOptions, Cost, Derivative, Form, compile_to, derive};
use cotan_schedule::Target;
use cotan_syntax::{format, instantiate, load_text};

const TOUR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tour.md");

/// The document in pieces: texts and blocks in turn, each block with its name.
struct Tour {
    blocks: Vec<(String, String)>,
    texts: Vec<String>,
}

impl Tour {
    fn parse(text: &str) -> Tour {
        let mut tour = Tour { blocks: Vec::new(), texts: Vec::new() };
        let mut rest = text;
        while let Some(at) = rest.find("<!-- block: ") {
            let (before, from) = rest.split_at(at);
            let (head, body) = from.split_once(" -->\n```\n").unwrap();
            let (body, after) = body.split_once("```\n").unwrap();
            tour.texts.push(before.to_owned());
            tour.blocks.push((head["<!-- block: ".len()..].to_owned(), body.to_owned()));
            rest = after;
        }
        tour.texts.push(rest.to_owned());
        tour
    }

    fn block(&self, name: &str) -> &str {
        &self.blocks.iter().find(|(n, _)| n == name).unwrap().1
    }

    fn render(&self) -> String {
        let mut text = String::new();
        for (before, (name, body)) in self.texts.iter().zip(&self.blocks) {
            write!(text, "{before}<!-- block: {name} -->\n```\n{body}```\n").unwrap();
        }
        text + self.texts.last().unwrap()
    }
}

/// The program of the only function of a text.
fn core(source: &str, function: &str, sizes: &[(&str, usize)]) -> Program {
    let file = SourceMap::new().add("tour.ct", source);
    assert_eq!(format(file, source).unwrap(), source, "the tour is not formatted");
    let modules = load_text("tour.ct", source).unwrap();
    instantiate(&modules, function, &[], sizes, &Default::default()).unwrap().program
}

fn traced(program: &Program) -> (Program, Report) {
    let (result, report) = bulk(program, &Options { trace: true, ..Options::default() }).unwrap();
    normal_form(&result).unwrap();
    (result, report)
}

fn firings(report: &Report) -> String {
    let mut text = String::new();
    for firing in report.trace() {
        writeln!(text, "{:18} {}\n{:18} {}", firing.rule, firing.before, "~>", firing.after)
            .unwrap();
    }
    text
}

fn runs<const N: usize>(programs: [(&str, &Program); N]) -> String {
    let mut text = String::new();
    for (name, program) in programs {
        let a = Value::of(&[5], vec![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let run = Interp::new(program).run(&[a]).unwrap();
        let counts = run.counts;
        writeln!(
            text,
            "{name}: {}\n  {} operations, {} reads, {} writes, {} steps, {} nodes",
            run.outputs.iter().map(Value::to_string).collect::<Vec<_>>().join(", "),
            counts.scalar_ops,
            counts.reads,
            counts.writes,
            counts.steps,
            counts.nodes
        )
        .unwrap();
    }
    text
}

/// What the passes up to one leave of value and gradient, for the portable target.
fn left_by(pass: &str, source: &Program) -> String {
    let options = CompileOptions {
        derivative: Some((Derivative::ValueAndGrad, None)),
        target: Target::portable(),
        ..CompileOptions::new(Backend::Native)
    };
    match compile_to(Cow::Borrowed(source), &options, Some(pass)).unwrap() {
        Form::Program(program) => program.to_string(),
        Form::Plan(_, plan) => plan.to_string(),
        Form::Schedule(program, schedule) if pass == "memory" => schedule.memory(&program),
        Form::Schedule(program, schedule) => schedule.kernels(&program),
        _ => panic!("there is no such stage"),
    }
}

#[test]
fn every_block_is_what_the_stages_make() {
    let committed = std::fs::read_to_string(TOUR).unwrap().replace("\r\n", "\n");
    let mut tour = Tour::parse(&committed);
    let source = core(tour.block("source"), "self_convolution", &[("n", 5)]);
    let (result, report) = traced(&source);
    let (shifted, _) = traced(&core(tour.block("shifted source"), "shifted", &[]));
    let dual = cotan_ad::dual(&result, None).unwrap();
    let gradient = derive(&source, Derivative::ValueAndGrad, None).unwrap();
    for (name, body) in &mut tour.blocks {
        match name.as_str() {
            "source" | "shifted source" => {}
            "core" => *body = source.to_string(),
            "trace" => *body = firings(&report),
            "bulk" => *body = result.to_string(),
            "shifted bulk" => *body = shifted.to_string(),
            "run" => *body = runs([("before", &source), ("after", &result)]),
            "primal" => *body = dual.primal.to_string(),
            "delta" => *body = dual.to_string(),
            "gradient" => *body = gradient.to_string(),
            "gradient run" => {
                *body = runs([("values alone", &result), ("with gradient", &gradient)]);
                for (what, cost) in [("values alone", &result), ("with gradient", &gradient)] {
                    let Cost { operations, bytes } = Cost::of(cost);
                    writeln!(body, "{what}, counted: {operations} operations, {bytes} bytes made")
                        .unwrap();
                }
            }
            "optimised" => *body = left_by("optimised", &source),
            "nests" => *body = left_by("nests", &source),
            "kernels" => *body = left_by("kernels", &source),
            "memory" => *body = left_by("memory", &source),
            other => panic!("the tour has no stage {other}"),
        }
    }
    let made = tour.render();
    if std::env::var_os("COTAN_BLESS").is_some() {
        std::fs::write(TOUR, made).unwrap();
    } else {
        assert!(
            committed == made,
            "docs/tour.md is out of date, run with COTAN_BLESS=1; now\n{made}"
        );
    }
}
