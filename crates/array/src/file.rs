//! Regular files: opened without waiting for a writer, and replaced whole or not at all.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Links are followed this often, as by Linux.
const MAX_LINKS: usize = 40;

/// How many processes may write into one folder at once under temporary names.
const MAX_WRITERS: usize = 1000;

/// Opens a regular file for reading. A pipe would make `open` wait for a writer, and a device may
/// never end, so anything else is refused before it is opened.
pub fn open(path: &Path) -> io::Result<File> {
    refuse_special(fs::metadata(path)?.file_type())?;
    let file = File::open(path)?;
    // What has the name now may not be what had it a moment ago.
    refuse_special(file.metadata()?.file_type())?;
    Ok(file)
}

fn refuse_special(kind: FileType) -> io::Result<()> {
    let what = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a folder",
        kind => special(kind),
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{what}, not a regular file")))
}

#[cfg(unix)]
fn special(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> &'static str {
    "a special file"
}

/// The file that [`replace`] would write for `path`, if it may: links are followed, so that they
/// stay links, and a file that is read-only or not regular is left alone.
pub fn destination(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => {
                let target = fs::read_link(&path)?;
                path = path.parent().unwrap_or(Path::new("")).join(target);
            }
            Ok(found) => {
                refuse_special(found.file_type())?;
                if found.permissions().readonly() {
                    let message = "the file is read-only";
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
                }
                return Ok(path);
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound && path.file_name().is_some() => {
                return Ok(path);
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the name of a file"));
            }
            Err(e) => return Err(e),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "links that lead to each other"))
}

/// Writes a new file and gives it the name `path` once it is complete and on the disk. On failure
/// nothing is left behind, and what had the name before still has it. A link is followed, and a file
/// that is replaced passes its permissions on.
///
/// On Linux the new file has no name until it is complete, so nothing is left behind either when the
/// process is killed. Elsewhere, and on file systems without such files, it has a temporary name in
/// the same folder; what a killed process leaves there, the next write into the folder removes.
pub fn replace<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let path = destination(path)?;
    match unnamed(&path) {
        Some(file) => {
            let file = write_all(file, &path, write)?;
            Ok(put_in_place(&file, &path)?)
        }
        None => replace_by_rename(&path, write),
    }
}

/// The way that works on every system: by a file with a temporary name.
fn replace_by_rename<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let (temporary, file) = with_temporary_name(path, |name| {
        let file = OpenOptions::new().write(true).create_new(true).open(name)?;
        // Best effort: where there are no locks, leftovers stay.
        let _ = file.try_lock();
        Ok(file)
    })?;
    let result = write_all(file, path, write).and_then(|file| {
        fs::rename(&temporary, path)?;
        drop(file);
        Ok(())
    });
    if result.is_err() {
        // The first error is the one to report; that of the clean-up would hide it.
        let _ = fs::remove_file(&temporary);
    }
    result
}

/// Fills a new file and waits until it is on the disk.
fn write_all<E: From<io::Error>>(
    file: File,
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<File, E> {
    let mut output = BufWriter::new(file);
    write(&mut output)?;
    let file = output.into_inner().map_err(io::IntoInnerError::into_error)?;
    if let Ok(old) = fs::metadata(path) {
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()?;
    Ok(file)
}

/// A new file without a name in the folder of `path`, where the system has such.
#[cfg(target_os = "linux")]
fn unnamed(path: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = File::from(open(folder(path), flags, Mode::from_raw_mode(0o666)).ok()?);
    // It gets its name by way of this link.
    fs::symlink_metadata(descriptor(&file)).ok()?;
    Some(file)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path) -> Option<File> {
    None
}

#[cfg(target_os = "linux")]
fn descriptor(file: &File) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Gives a file without a name the name `path`. No file is ever without its name meanwhile, so one
/// that is there already is replaced by a rename.
#[cfg(target_os = "linux")]
fn put_in_place(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    let link = |name: &Path| -> io::Result<()> {
        Ok(linkat(CWD, descriptor(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
    };
    match link(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        done => return done,
    }
    let _ = file.try_lock();
    let (temporary, ()) = with_temporary_name(path, link)?;
    fs::rename(&temporary, path).inspect_err(|_| drop(fs::remove_file(&temporary)))
}

#[cfg(not(target_os = "linux"))]
fn put_in_place(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Makes something under a new name in the folder of `path`. Whoever writes to such a file holds a
/// lock on it, so one that can be locked was left behind by a process that is gone.
fn with_temporary_name<T>(
    path: &Path,
    make: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    let mut error = io::ErrorKind::AlreadyExists.into();
    for number in 0..MAX_WRITERS {
        let name = folder(path).join(format!(".cotan-{number}.tmp"));
        // Twice: what is in the way may go away.
        for _ in 0..2 {
            match make(&name) {
                Ok(made) => return Ok((name, made)),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => error = e,
                Err(e) => return Err(e),
            }
            let abandoned = OpenOptions::new().write(true).open(&name).and_then(|file| {
                file.try_lock().map_err(io::Error::from)?;
                fs::remove_file(&name)
            });
            if abandoned.is_err() {
                break;
            }
        }
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    type Replace = fn(&Path, &dyn Fn(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()>;

    /// Both ways to write, with a folder for each.
    fn both_ways(name: &str, test: impl Fn(&Path, Replace)) {
        let ways: [(&str, Replace); 2] =
            [("unnamed", |p, w| replace(p, w)), ("named", |p, w| replace_by_rename(p, w))];
        for (way, replace) in ways {
            let folder =
                std::env::temp_dir().join(format!("cotan-{name}-{way}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            test(&folder, replace);
            fs::remove_dir_all(&folder).unwrap();
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_failed_write_leaves_everything_as_it_was() {
        both_ways("replace", |folder, replace| {
            let path = folder.join("x");
            replace(&path, &|f| f.write_all(b"first")).unwrap();
            let failed = replace(&path, &|f| {
                f.write_all(&[0; 100_000])?;
                Err(io::Error::other("full"))
            });
            assert_eq!(failed.unwrap_err().to_string(), "full");
            assert_eq!(fs::read(&path).unwrap(), b"first");
            replace(&path, &|f| f.write_all(b"second")).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"second");
            assert_eq!(names(folder), ["x"]);
            assert!(replace(&folder.join("none/x"), &|_| Ok(())).is_err());
        });
        assert!(replace::<io::Error>(&std::env::temp_dir().join(".."), |_| Ok(())).is_err());
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not() {
        both_ways("leftovers", |folder, _| {
            for name in [".cotan-0.tmp", ".cotan-2.tmp"] {
                fs::write(folder.join(name), "left behind").unwrap();
            }
            let living = File::create(folder.join(".cotan-1.tmp")).unwrap();
            living.lock().unwrap();
            let (path, inner) = (folder.join("x"), folder.join("y"));
            replace_by_rename::<io::Error>(&path, |f| {
                f.write_all(b"outer")?;
                f.flush()?;
                replace_by_rename::<io::Error>(&inner, |f| f.write_all(b"inner"))
            })
            .unwrap();
            assert_eq!(names(folder), [".cotan-1.tmp", "x", "y"]);
            assert_eq!(fs::read(&path).unwrap(), b"outer");
            assert_eq!(fs::read(&inner).unwrap(), b"inner");
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_has_no_name_before_it_is_complete() {
        both_ways("unnamed", |folder, _| {
            replace::<io::Error>(&folder.join("x"), |f| {
                f.write_all(&[0; 100_000])?;
                if super::unnamed(&folder.join("x")).is_some() {
                    assert!(names(folder).is_empty());
                }
                Ok(())
            })
            .unwrap();
        });
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        both_ways("links", |folder, _| {
            let (path, link, chain) = (folder.join("x"), folder.join("link"), folder.join("chain"));
            symlink("x", &link).unwrap();
            symlink("link", &chain).unwrap();
            // Also where nothing is yet.
            replace::<io::Error>(&chain, |f| f.write_all(b"first")).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"first");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            replace::<io::Error>(&link, |f| f.write_all(b"second")).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"second");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert!(fs::symlink_metadata(&chain).unwrap().is_symlink());
            symlink("round", folder.join("round")).unwrap();
            let error = destination(&folder.join("round")).unwrap_err().to_string();
            assert_eq!(error, "links that lead to each other");
        });
    }

    #[cfg(unix)]
    #[test]
    fn what_is_read_only_or_not_regular_is_left_alone() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        both_ways("special", |folder, _| {
            let path = folder.join("x");
            fs::write(&path, "kept").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
            let error = replace::<io::Error>(&path, |f| f.write_all(b"lost")).unwrap_err();
            assert_eq!(error.to_string(), "the file is read-only");
            assert_eq!(fs::read(&path).unwrap(), b"kept");
            symlink("/dev/null", folder.join("null")).unwrap();
            let error = destination(&folder.join("null")).unwrap_err();
            assert_eq!(error.to_string(), "a device, not a regular file");
            assert_eq!(
                destination(folder).unwrap_err().to_string(),
                "a folder, not a regular file"
            );
            let error = open(&folder.join("null")).unwrap_err();
            assert_eq!(error.to_string(), "a device, not a regular file");
            assert!(open(&path).is_ok() && open(folder).is_err());
        });
    }
}
