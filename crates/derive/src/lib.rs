//! The derive macro of cotan: structs of arrays as arguments and results of functions.
//!
//! `input` reads a struct and refuses what cannot work, with advice at the place; `output`
//! writes the implementations.

mod input;
mod output;

use proc_macro::TokenStream;

/// Makes a struct with arrays in it an argument and a result of functions.
///
/// Its documentation is where it is used: see `cotan::Arrays`.
#[proc_macro_derive(Arrays, attributes(arrays))]
pub fn derive_arrays(item: TokenStream) -> TokenStream {
    let implementations = syn::parse(item)
        .and_then(|item| input::Structure::read(&item))
        .map(|structure| output::implementations(&structure));
    implementations.unwrap_or_else(syn::Error::into_compile_error).into()
}
