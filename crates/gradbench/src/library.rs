//! The modules: their names, their functions, their texts.

use cotan_syntax::{MemoryLoader, Modules, load};

use crate::failure::{Failure, Outcome};

/// A module of GradBench: a program, and those of its functions that an eval may ask for.
///
/// A program may define `input`, which takes the input of a message and gives the arguments of the
/// functions, and for a function `f` also `f_output`, which takes what `f` gives and gives the output
/// of the reply. Both are outside of what is timed.
#[derive(Clone, Copy, Debug)]
pub struct LibraryModule {
    /// Its name.
    pub name: &'static str,
    /// The functions that an eval may ask for.
    pub functions: &'static [&'static str],
    /// The program.
    pub text: &'static str,
}

macro_rules! modules {
    ($($name:literal $text:ident: $($function:literal)*;)*) => {
        const MODULES: &[LibraryModule] = &[$(LibraryModule {
            name: $name,
            functions: &[$($function),*],
            text: cotan_examples::gradbench::$text,
        }),*];
    };
}

modules! {
    "hello" HELLO: "square" "double";
    "gmm" GMM: "objective" "jacobian";
    "ba" BA: "objective" "jacobian";
    "lstm" LSTM: "objective" "jacobian";
    "ht" HT: "objective" "jacobian";
    "kmeans" KMEANS: "cost" "dir";
    "lse" LSE: "primal" "gradient";
    "llsq" LLSQ: "primal" "gradient";
    "ode" ODE: "primal" "gradient";
    "det" DET: "primal" "gradient";
    "particle" PARTICLE: "ff" "fr" "rf" "rr";
    "saddle" SADDLE: "ff" "fr" "rf" "rr";
}

/// What `particle` and `saddle` import.
const DESCENT: &str = cotan_examples::gradbench::DESCENT;

/// All modules.
pub fn library() -> &'static [LibraryModule] {
    MODULES
}

impl LibraryModule {
    /// The module of this name.
    pub(crate) fn find(name: &str) -> Outcome<&'static LibraryModule> {
        MODULES.iter().find(|module| module.name == name).ok_or_else(|| {
            let known: Vec<&str> = MODULES.iter().map(|module| module.name).collect();
            Failure::Module { name: name.to_owned(), known: known.join(", ") }
        })
    }

    /// The function of this name.
    pub(crate) fn function(&self, name: &str) -> Outcome<&'static str> {
        let found = self.functions.iter().copied().find(|function| *function == name);
        found.ok_or_else(|| Failure::Function {
            module: self.name,
            name: name.to_owned(),
            known: self.functions.join(", "),
        })
    }

    /// Its program, parsed.
    pub(crate) fn load(&self) -> Outcome<Modules> {
        let file = format!("{}.ct", self.name);
        let texts = MemoryLoader::new().with(file.as_str(), self.text).with("descent.ct", DESCENT);
        Ok(load(&file, &texts)?)
    }
}
