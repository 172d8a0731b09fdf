//! Members of an `.npz` file one by one, by name.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use crate::memory::DEFAULT_LIMIT;
use crate::{Array, Dtype, Shape, file};

use super::NpzError;
use super::name::checked;
use super::read::{Member, ends, member_name, read_directory};
use super::records::Entry;

/// An `.npz` file of which arrays are read by name. What nobody asks for is not looked at, so it may
/// be anything: strings, Python objects, members of other kinds.
///
/// ```
/// use std::io::Cursor;
///
/// use cotan_array::{Array, Shape, npz};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let x = Array::from_vec(Shape::new("example", &[2])?, vec![1.0, 2.0])?;
/// let bytes = npz::write(&[("x", x.clone())])?;
/// let mut archive = npz::Archive::new(Cursor::new(bytes))?;
/// assert_eq!(archive.names().collect::<Vec<_>>(), ["x"]);
/// assert_eq!(archive.read("x")?, Some(x));
/// assert_eq!(archive.read("y")?, None);
/// # Ok(())
/// # }
/// ```
pub struct Archive<R> {
    input: R,
    members: Vec<Listed>,
    by_name: HashMap<String, Found>,
    /// How many bytes of arrays may still be read.
    limit: u64,
}

/// A member as the directory lists it.
struct Listed {
    entry: Entry,
    /// Where the next one starts.
    end: u64,
    name: String,
}

/// What a name stands for.
#[derive(Clone, Copy)]
enum Found {
    Once(usize),
    Twice,
}

impl Archive<File> {
    /// Opens an `.npz` file and reads its directory.
    pub fn open(path: impl AsRef<Path>) -> Result<Archive<File>, NpzError> {
        let path = path.as_ref();
        let open = || Archive::new(file::open(path)?);
        open().map_err(|e| e.of_file(path))
    }
}

impl<R: Read + Seek> Archive<R> {
    /// Reads the directory of an archive.
    pub fn new(mut input: R) -> Result<Archive<R>, NpzError> {
        let (entries, directory) = read_directory(&mut input)?;
        let ends = ends(&entries, directory);
        let list = |(entry, end): (Entry, u64)| {
            // A name that is refused is known by what can be read of it.
            let name = match member_name(&entry).and_then(checked) {
                Ok(name) => name.to_owned(),
                Err(_) => String::from_utf8_lossy(&entry.name).into_owned(),
            };
            Listed { entry, end, name }
        };
        let members: Vec<Listed> = entries.into_iter().zip(ends).map(list).collect();
        let mut by_name: HashMap<String, Found> = HashMap::new();
        for (at, member) in members.iter().enumerate() {
            by_name
                .entry(member.name.clone())
                .and_modify(|found| *found = Found::Twice)
                .or_insert(Found::Once(at));
        }
        Ok(Archive { input, members, by_name, limit: DEFAULT_LIMIT })
    }

    /// The same, reading no more than `limit` bytes of arrays, all of them together.
    pub fn within(self, limit: u64) -> Archive<R> {
        Archive { limit, ..self }
    }

    /// The names of all members, in the order of the archive.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.name.as_str())
    }

    /// The array of this name; none if there is no member of this name.
    pub fn read(&mut self, name: &str) -> Result<Option<Array>, NpzError> {
        let Some(at) = self.find(name)? else { return Ok(None) };
        self.read_member(at).map(Some)
    }

    /// The element type and the shape of an array, which is not read.
    pub fn describe(&mut self, name: &str) -> Result<Option<(Dtype, Shape)>, NpzError> {
        let Some(at) = self.find(name)? else { return Ok(None) };
        let Some(member) = self.members.get(at) else { return Ok(None) };
        member.checked()?.describe(&mut self.input).map(Some)
    }

    /// Every array, all of which have to be readable.
    pub(super) fn read_all(mut self) -> Result<Vec<(String, Array)>, NpzError> {
        // Names first: an archive with bad ones is not worth inflating.
        for member in &self.members {
            member.checked()?;
            self.find(&member.name)?;
        }
        let arrays = (0..self.members.len()).map(|at| self.read_member(at));
        let arrays = arrays.collect::<Result<Vec<Array>, NpzError>>()?;
        Ok(self.members.into_iter().map(|member| member.name).zip(arrays).collect())
    }

    fn find(&self, name: &str) -> Result<Option<usize>, NpzError> {
        match self.by_name.get(name) {
            Some(Found::Once(at)) => Ok(Some(*at)),
            Some(Found::Twice) => Err(NpzError::DuplicateName { name: name.into() }),
            None => Ok(None),
        }
    }

    fn read_member(&mut self, at: usize) -> Result<Array, NpzError> {
        let Some(member) = self.members.get(at) else { return Err(NpzError::NotZip) };
        let array = member.checked()?.read(&mut self.input, self.limit)?;
        self.limit = self.limit.saturating_sub(array.shape().bytes(array.dtype()));
        Ok(array)
    }
}

impl Listed {
    /// The member, if its name is allowed.
    fn checked(&self) -> Result<Member<'_>, NpzError> {
        let name = checked(member_name(&self.entry)?)?;
        Ok(Member { entry: &self.entry, end: self.end, name })
    }
}
