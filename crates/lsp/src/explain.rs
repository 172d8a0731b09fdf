//! What a line of a program becomes, as a text.

use std::time::{Duration, Instant};

use cotan_ir::{Error, FileId, Limits, Watch, within};
use cotan_syntax::sample;
use cotan_view::{Options, Story, line_report};

use crate::analysis::{Loaded, Snapshot};

/// How long that may take.
const TIME: Duration = Duration::from_secs(10);

/// What a line, from 1, of a function of a file becomes at every stage, at sizes that fit, what it and
/// its derivative cost, and what is kept for it.
pub fn explained(snapshot: &Snapshot, function: &str, line: u32) -> Result<String, String> {
    let end = Instant::now() + TIME;
    let watch = Watch { deadline: Some(end), ..Watch::default() };
    within(watch, || {
        let loaded = Loaded::new(snapshot).map_err(|failure| failure.to_string())?;
        let limits = Limits { deadline: Some(end), ..Limits::default() };
        let mut params = String::new();
        let core = || {
            let instance = sample(&loaded.modules, function, &limits)
                .ok_or_else(|| Why(format!("no sizes were found that fit `{function}`")))?;
            let given = instance.params.iter().map(|(name, tree)| format!("{name}: {tree}"));
            params = given.collect::<Vec<_>>().join(", ");
            Ok(instance.program)
        };
        let story = Story::of(core, &Options::default()).map_err(|Why(why)| why)?;
        let own = |file: &FileId| story.sources.text(*file) == &*snapshot.text;
        let file = story.sources.files().find(own).unwrap_or(FileId(0));
        let report = line_report(&story, file, line)?;
        Ok(format!("{function}({params})\n\n{report}"))
    })
}

/// Why there is nothing to be told.
struct Why(String);

impl From<Error> for Why {
    fn from(error: Error) -> Why {
        Why(error.to_string())
    }
}
