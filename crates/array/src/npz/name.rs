//! Names of members: which are allowed, and which are the same.

use std::collections::HashSet;

use super::NpzError;

/// What the name of an array has to end with in the archive, and may lack when it is read.
pub(super) const SUFFIX: &str = ".npy";

/// The names of the members so far, checked and without `.npy`.
#[derive(Default)]
pub(super) struct Names {
    seen: HashSet<String>,
}

impl Names {
    /// The name of an array by that of its member, if it is allowed and new.
    pub(super) fn add(&mut self, member: &str) -> Result<String, NpzError> {
        let name = checked(member)?;
        if !self.seen.insert(name.into()) {
            return Err(NpzError::DuplicateName { name: name.into() });
        }
        Ok(name.into())
    }
}

/// The name of an array by that of its member, if it is allowed.
pub(super) fn checked(member: &str) -> Result<&str, NpzError> {
    let name = member.strip_suffix(SUFFIX).unwrap_or(member);
    match problem(name) {
        Some(problem) => Err(NpzError::BadName { name: member.into(), problem }),
        None => Ok(name),
    }
}

/// Names such as `layer/weights` are in use and allowed; what is not are those that would leave
/// the folder into which the archive is unpacked, on any system.
fn problem(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("an empty name");
    }
    if name.len() > usize::from(u16::MAX).saturating_sub(SUFFIX.len()) {
        return Some("a name of more than 65531 bytes");
    }
    if name.chars().any(char::is_control) {
        return Some("a control character in its name");
    }
    if name.contains('\\') {
        return Some("a backslash in its name");
    }
    if name.starts_with('/') || name.as_bytes().get(1) == Some(&b':') {
        return Some("an absolute path as its name");
    }
    if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Some("a path with an empty part, '.' or '..' as its name");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_names_are_kept_and_lose_their_suffix() {
        let mut names = Names::default();
        for name in ["x", "arr_0", "layer/weights", "größe", "a.b", "x.npz", "..x"] {
            assert_eq!(names.add(&format!("{name}.npy")).unwrap(), name);
            let again = names.add(name).unwrap_err().to_string();
            assert_eq!(again, format!("two members are named \"{name}\""));
        }
    }

    #[test]
    fn tricks_are_refused() {
        let tricks = [
            (".npy", "an empty name"),
            ("", "an empty name"),
            ("/etc/passwd", "an absolute path"),
            ("C:x.npy", "an absolute path"),
            ("../x.npy", "'..'"),
            ("a/../../x", "'..'"),
            ("a/./x", "'.'"),
            ("a//x", "an empty part"),
            ("folder/", "an empty part"),
            ("a\\x", "a backslash"),
            ("a\0.npy", "a control character"),
            ("a\nb", "a control character"),
        ];
        for (name, problem) in tricks {
            let e = Names::default().add(name).unwrap_err().to_string();
            assert!(e.contains(problem), "{name:?}: {e}");
        }
        assert!(Names::default().add(&"x".repeat(65_532)).is_err());
    }
}
