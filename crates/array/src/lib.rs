//! Dense strided arrays of `f64`, `f32`, `i64` and `bool`, their checked shapes,
//! and the `.npy`/`.npz` files they travel in. Knows nothing of the language.
//!
//! | type | what it is |
//! |---|---|
//! | [`Array`] | a shared buffer with a strided view of it; views and clones copy nothing |
//! | [`Shape`] | the sizes of the axes; counts of elements and bytes never overflow |
//! | [`Dtype`] | the four element types, as values |
//! | [`Element`] | the four element types, as Rust types, with the conversions between them |
//! | [`Summary`] | a large array in one line |
//! | [`ArrayError`] | what was asked, what is allowed, and what to do |
//! | [`npy`], [`npz`] | NumPy's files, safe to read from anyone |
//! | [`open_file`], [`replace_file`] | opening regular files only; writing a file whole or not at all |
//! | [`release`] | giving gigabytes back without keeping the caller |
//!
//! An `Array` knows its element type only at run time. Whoever reaches for elements names the
//! Rust type, and gets `None` (or an error) when it is another.
//!
//! **Memory.** Operations that make new elements ([`Array::from_fn`], [`Array::full`],
//! [`Array::cast`], [`Array::contiguous`], ...) are refused before they allocate when the result
//! would pass [`DEFAULT_LIMIT`] bytes, and return an error, not an abort, when there is no memory.
//!
//! ```
//! use cotan_array::{Array, Shape, npy};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let sh = Shape::new("example", &[2, 3])?;
//! let a = Array::from_vec(sh, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let columns = a.transpose(&[1, 0])?.reverse(0)?; // a view: no element moves
//! assert_eq!(columns.to_string(), "[[3.0, 6.0],\n [2.0, 5.0],\n [1.0, 4.0]]");
//! assert_eq!(columns.row(0)?.to_vec::<f64>()?, [3.0, 6.0]);
//!
//! let file = npy::write(&columns)?; // what numpy.save would write
//! assert_eq!(npy::read(&file)?, columns);
//! assert_eq!(a.summary().to_string(), "f64[2, 3]: min 1.0, max 6.0, mean 3.5");
//! # Ok(())
//! # }
//! ```

mod array;
mod buffer;
mod convert;
mod display;
mod dtype;
mod element;
mod error;
mod file;
mod layout;
mod memory;
pub mod npy;
pub mod npz;
pub mod release;
mod shape;
mod summary;
mod view;

pub use array::{Array, Iter};
pub use buffer::Lender;
pub use dtype::Dtype;
pub use element::Element;
pub use error::ArrayError;
pub use file::{destination as file_destination, open as open_file, replace as replace_file};
pub use memory::DEFAULT_LIMIT;
pub use shape::{MAX_RANK, Shape};
pub use summary::Summary;
