//! Functions of the text language: what [`include_ct!`](crate::include_ct) writes calls these.

use std::sync::OnceLock;

use cotan_ir::scalar::Scalar;
use cotan_ir::{Limits, Type};
use cotan_syntax::render::Style;
use cotan_syntax::{ArgSpec, Failure, MemoryLoader, Modules, instantiate, load};

use crate::arr::Arr;
use crate::element::Element;
use crate::error::Error;
use crate::stage::{self, Raw};
use crate::untyped::{AnyArr, inline};

/// A file of the text language and what it imports, read when the Rust program was compiled.
#[derive(Debug)]
pub struct Text {
    files: &'static [(&'static str, &'static str)],
    modules: OnceLock<Result<Modules, String>>,
}

/// An argument of a function of the text language.
#[derive(Clone, Debug)]
pub enum Argument {
    /// The arrays of a parameter, in order.
    Arrays(Vec<AnyArr>),
    /// An integer that is known.
    Integer(i64),
    /// A truth value that is known.
    Truth(bool),
}

fn rendered(failure: &Failure) -> String {
    failure.render(Style::Plain).trim_end().to_owned()
}

impl Text {
    /// The files by name, the entry first.
    pub const fn new(files: &'static [(&'static str, &'static str)]) -> Text {
        Text { files, modules: OnceLock::new() }
    }

    fn modules(&self) -> Result<&Modules, String> {
        let made = self.modules.get_or_init(|| {
            let with = |loader: MemoryLoader, &(name, text): &(&str, &str)| loader.with(name, text);
            let loader = self.files.iter().fold(MemoryLoader::new(), with);
            let entry = self.files.first().map_or("", |file| file.0);
            load(entry, &loader).map_err(|fault| rendered(&fault))
        });
        made.as_ref().map_err(String::clone)
    }

    /// The arrays that a function gives; none after an error, which the stage has.
    #[track_caller]
    pub fn call(&self, function: &'static str, args: Vec<Argument>) -> Vec<AnyArr> {
        stage::expect_stage(function);
        if stage::failed() {
            return Vec::new();
        }
        let (mut specs, mut leaves) = (Vec::with_capacity(args.len()), Vec::new());
        for arg in args {
            specs.push(match arg {
                Argument::Integer(x) => ArgSpec::Static(Scalar::I64(x)),
                Argument::Truth(x) => ArgSpec::Static(Scalar::Bool(x)),
                Argument::Arrays(arrays) => {
                    let types: Vec<Type> = arrays.iter().filter_map(|x| x.ty()).collect();
                    leaves.extend(arrays);
                    ArgSpec::Leaves(types)
                }
            });
        }
        let made = self.modules().and_then(|modules| {
            let made = instantiate(modules, function, &specs, &[], &Limits::default());
            made.map_err(|fault| rendered(&fault))
        });
        match made {
            // An error of the stage is recorded there.
            Ok(instance) => inline(&instance.program, &leaves).unwrap_or_default(),
            Err(message) => {
                stage::fail(Error::type_error(function, message));
                Vec::new()
            }
        }
    }
}

/// The next of the arrays that a function gave.
pub fn next<T: Element>(results: &mut impl Iterator<Item = AnyArr>) -> Arr<T> {
    let next = results.next().and_then(AnyArr::typed);
    next.unwrap_or_else(|| Arr::from_raw(Raw::default()))
}
