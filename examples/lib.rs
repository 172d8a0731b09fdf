//! The programs of this folder, for the command and for GradBench, which come with them as text.

/// A program, the function `main` of which takes no arguments.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The name of its file, without `.ct`.
    pub name: &'static str,
    /// What is in it.
    pub text: &'static str,
}

macro_rules! programs {
    ($($name:literal)*) => {
        &[$(Program { name: $name, text: include_str!(concat!($name, ".ct")) }),*]
    };
}

/// All programs, by name.
pub const PROGRAMS: &[Program] = programs! {
    "dot" "game_of_life" "gradient_descent" "histogram" "linear_recurrence" "mandelbrot"
    "matmul" "moving_average" "nearest" "parameters" "self_convolution" "softmax"
};

/// The modules of GradBench.
pub mod gradbench {
    macro_rules! modules {
        ($($constant:ident $name:literal;)*) => {$(
            #[doc = concat!("`", $name, ".ct`.")]
            pub const $constant: &str = include_str!(concat!("gradbench/", $name, ".ct"));
        )*};
    }

    modules! {
        BA "ba";
        DESCENT "descent";
        DET "det";
        GMM "gmm";
        HELLO "hello";
        HT "ht";
        KMEANS "kmeans";
        LLSQ "llsq";
        LSE "lse";
        LSTM "lstm";
        ODE "ode";
        PARTICLE "particle";
        SADDLE "saddle";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_program_with_a_title() {
        let mut files: Vec<String> = std::fs::read_dir(env!("CARGO_MANIFEST_DIR"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(".ct").map(str::to_owned))
            .collect();
        files.sort();
        let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        assert_eq!(names, files);
        for program in PROGRAMS {
            let title = program.text.lines().next().unwrap();
            assert!(title.starts_with("# ") && title.ends_with('.'), "{title}");
        }
    }
}
