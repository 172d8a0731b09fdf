//! The macro `include_ct!`: the functions of a `.ct` file as functions of Rust.
//!
//! `file` loads and checks the file with the compiler of the language, and finds the types of each
//! function; `output` writes the functions.

mod file;
mod output;

use proc_macro::TokenStream;
use syn::LitStr;

/// The functions of a `.ct` file as functions of `Arr`s.
///
/// Its documentation is where it is used: see `cotan::include_ct`.
#[proc_macro]
pub fn include_ct(path: TokenStream) -> TokenStream {
    let here = proc_macro::Span::call_site().local_file();
    let written = syn::parse::<LitStr>(path).and_then(|path| {
        let file = file::File::load(&path.value(), here.as_deref());
        file.map_err(|message| syn::Error::new(path.span(), message))
    });
    match written {
        Ok(file) => output::functions(&file).into(),
        Err(error) => error.into_compile_error().into(),
    }
}
