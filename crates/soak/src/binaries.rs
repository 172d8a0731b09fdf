//! The test programs, and the tests in them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The packages with random tests.
const PACKAGES: [&str; 10] = [
    "cotan-cpu",
    "cotan-opt",
    "cotan-ad",
    "cotan-bot",
    "cotan-pipeline",
    "cotan-sparse",
    "cotan-c",
    "cotan-stablehlo",
    "cotan-syntax",
    "cotan-testkit",
];

/// A test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    pub package: String,
    /// The name of the test file; `lib` for unit tests.
    pub target: String,
    pub path: PathBuf,
}

/// A test of a test program.
#[derive(Clone, Debug)]
pub struct Test {
    pub binary: Binary,
    pub name: String,
}

impl Binary {
    /// Its tests, by its own list.
    pub fn tests(&self) -> Result<Vec<Test>, String> {
        let listed = Command::new(&self.path).args(["--list", "--format", "terse"]).output();
        let listed = listed.map_err(|e| format!("{}: {e}", self.path.display()))?;
        let text = String::from_utf8_lossy(&listed.stdout);
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(|name| Test { binary: self.clone(), name: name.into() }).collect())
    }

    /// The name of its copy: package and target, which file names can hold.
    fn file_name(&self) -> String {
        format!("{}+{}", self.package, self.target)
    }
}

impl Test {
    /// What it is called in the state and in reports.
    pub fn key(&self) -> String {
        format!("{} {} {}", self.binary.package, self.binary.target, self.name)
    }

    /// The arguments of `cargo` that run this test alone.
    pub fn cargo_arguments(&self) -> String {
        let Binary { package, target, .. } = &self.binary;
        let place = if target == "lib" { "--lib".into() } else { format!("--test {target}") };
        format!("test -p {package} {place} -- --exact {}", self.name)
    }
}

/// Builds the test programs of all packages with random tests.
pub fn built() -> Result<Vec<Binary>, String> {
    let mut command = Command::new("cargo");
    command.args(["test", "--no-run", "--profile", "soak", "--lib", "--tests", "--locked"]);
    command.args(["--message-format", "json-render-diagnostics"]);
    for package in PACKAGES {
        command.args(["-p", package]);
    }
    let output = command.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|e| format!("cargo cannot be run: {e}"))?;
    if !output.status.success() {
        return Err("the tests do not compile".into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let binaries: Vec<Binary> = text.lines().filter_map(artifact).collect();
    if binaries.is_empty() { Err("cargo built no test program".into()) } else { Ok(binaries) }
}

/// The test program that a message of cargo tells of.
fn artifact(line: &str) -> Option<Binary> {
    let message: Value = serde_json::from_str(line).ok()?;
    let path = message.get("executable")?.as_str()?;
    if !message.get("profile")?.get("test")?.as_bool()? {
        return None;
    }
    let target = message.get("target")?;
    let kinds = target.get("kind")?.as_array()?;
    let unit = kinds.iter().any(|kind| kind == "lib");
    let name = if unit { "lib" } else { target.get("name")?.as_str()? };
    // Ends in `crates/ad#cotan-ad@0.1.0`, or in `testkit#cotan-testkit@0.1.0`.
    let id = message.get("package_id")?.as_str()?;
    let package = PACKAGES.iter().find(|p| id.contains(&format!("#{p}@")))?;
    Some(Binary { package: (*package).into(), target: name.into(), path: path.into() })
}

/// Copies test programs to a folder; says how many.
pub fn exported(binaries: &[Binary], dir: &Path) -> Result<usize, String> {
    std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    for binary in binaries {
        let to = dir.join(binary.file_name());
        std::fs::copy(&binary.path, &to).map_err(|e| format!("{}: {e}", to.display()))?;
    }
    Ok(binaries.len())
}

/// The test programs that [`exported`] has left in a folder.
pub fn find(dir: &Path) -> Result<Vec<Binary>, String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", dir.display());
    let mut binaries = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if let Some((package, target)) = name.split_once('+') {
            binaries.push(Binary { package: package.into(), target: target.into(), path });
        }
    }
    binaries.sort_by(|a, b| a.path.cmp(&b.path));
    if binaries.is_empty() {
        return Err(format!("{} holds no test programs: make them by --export", dir.display()));
    }
    Ok(binaries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_cargo_name_test_programs() {
        let line = r#"{"reason":"compiler-artifact","package_id":"path+file:///x/crates/ad#cotan-ad@0.1.0","target":{"kind":["test"],"name":"custom"},"profile":{"test":true},"executable":"/x/custom-1"}"#;
        let found = artifact(line);
        let expected = Binary {
            package: "cotan-ad".into(),
            target: "custom".into(),
            path: "/x/custom-1".into(),
        };
        assert_eq!(found, Some(expected));
        assert_eq!(
            artifact(&line.replace(r#"["test"]"#, r#"["lib"]"#)).map(|b| b.target),
            Some("lib".into())
        );
        assert_eq!(artifact(&line.replace("true", "false")), None);
        assert_eq!(artifact("warning: not JSON"), None);
    }

    /// Whether a folder has a source file that runs random cases.
    fn runs_cases(dir: &Path) -> bool {
        let Ok(entries) = std::fs::read_dir(dir) else { return false };
        entries.flatten().map(|entry| entry.path()).any(|path| match path.is_dir() {
            true => runs_cases(&path),
            false => {
                path.extension().is_some_and(|extension| extension == "rs")
                    && std::fs::read_to_string(&path)
                        .is_ok_and(|text| text.contains("for_each_case("))
            }
        })
    }

    #[test]
    fn every_package_with_random_tests_is_run() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut found = 0;
        for entry in std::fs::read_dir(crates).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            let random = ["src", "tests"].iter().any(|part| runs_cases(&entry.path().join(part)));
            if name != "soak" && random {
                found += 1;
                assert!(PACKAGES.contains(&&*format!("cotan-{name}")), "{name} is not in PACKAGES");
            }
        }
        assert!(found >= 6, "{found}");
    }

    #[test]
    fn a_test_can_be_run_alone() {
        let binary = |target: &str| Binary {
            package: "cotan-ad".into(),
            target: target.into(),
            path: PathBuf::new(),
        };
        let test = |target| Test { binary: binary(target), name: "orders::all".into() };
        assert_eq!(test("lib").cargo_arguments(), "test -p cotan-ad --lib -- --exact orders::all");
        assert_eq!(
            test("custom").cargo_arguments(),
            "test -p cotan-ad --test custom -- --exact orders::all"
        );
    }
}
