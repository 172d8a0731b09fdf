//! Where the command keeps what it remembers between runs.

use std::path::PathBuf;

/// The folder for what can be measured or made again. `COTAN_CACHE` names another; empty for none.
pub fn cache() -> Option<PathBuf> {
    let system = || match std::env::consts::OS {
        "windows" => folder("LOCALAPPDATA").map(|folder| folder.join("cotan").join("cache")),
        "macos" => folder("HOME").map(|home| home.join("Library/Caches/cotan")),
        _ => folder("XDG_CACHE_HOME")
            .or_else(|| Some(folder("HOME")?.join(".cache")))
            .map(|folder| folder.join("cotan")),
    };
    said("COTAN_CACHE").unwrap_or_else(system)
}

/// The file for the lines of the prompt. `COTAN_HISTORY` names another; empty for none.
#[cfg(feature = "repl")]
pub fn history() -> Option<PathBuf> {
    let system = || match std::env::consts::OS {
        "windows" => folder("LOCALAPPDATA").map(|folder| folder.join("cotan").join("history")),
        "macos" => {
            folder("HOME").map(|home| home.join("Library/Application Support/cotan/history"))
        }
        _ => folder("XDG_STATE_HOME")
            .or_else(|| Some(folder("HOME")?.join(".local/state")))
            .map(|folder| folder.join("cotan/history")),
    };
    said("COTAN_HISTORY").unwrap_or_else(system)
}

/// What a variable says if it is set: a path, or none.
fn said(variable: &str) -> Option<Option<PathBuf>> {
    let value = std::env::var_os(variable)?;
    Some((!value.is_empty()).then(|| PathBuf::from(value)))
}

fn folder(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|folder| folder.is_absolute())
}
