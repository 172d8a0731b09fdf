//! Replacing a file whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a temporary file in the folder of `path` and gives it that name once it is complete and
/// on the disk. On failure nothing is left behind, and what had the name before still has it. A file
/// that is replaced passes its permissions on.
pub fn replace<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let (temporary, file) = create_beside(path)?;
    let keep_permissions = || match fs::metadata(path) {
        Ok(old) => fs::set_permissions(&temporary, old.permissions()),
        Err(_) => Ok(()),
    };
    let result = write_all(file, write)
        .and_then(|()| Ok(keep_permissions()?))
        .and_then(|()| Ok(fs::rename(&temporary, path)?));
    if result.is_err() {
        // The first error is the one to report; that of the clean-up would hide it.
        let _ = fs::remove_file(&temporary);
    }
    result
}

fn write_all<E: From<io::Error>>(
    file: File,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let mut output = BufWriter::new(file);
    write(&mut output)?;
    output.flush()?;
    Ok(output.get_ref().sync_all()?)
}

/// A new file beside `path`, under a name that no other has: that of the process and a number.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let Some(name) = path.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the name of a file"));
    };
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{number}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_everything_as_it_was() {
        let folder = std::env::temp_dir().join(format!("cotan-replace-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("x");
        replace::<io::Error>(&path, |f| f.write_all(b"first")).unwrap();
        let failed = replace::<io::Error>(&path, |f| {
            f.write_all(&[0; 100_000])?;
            Err(io::Error::other("full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "full");
        assert_eq!(fs::read(&path).unwrap(), b"first");
        replace::<io::Error>(&path, |f| f.write_all(b"second")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(replace::<io::Error>(&folder.join(".."), |_| Ok(())).is_err());
        assert!(replace::<io::Error>(&folder.join("none/x"), |_| Ok(())).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
