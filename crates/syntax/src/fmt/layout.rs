//! Where lines break.
//!
//! The formatter writes a flat list of [`Event`]s; [`lay_out`] turns it into text. A group that fits
//! on the rest of its line stays on it. In a group that does not, every [`Event::Line`] directly in
//! it becomes a newline; in a *filled* group only those after which the next piece would not fit.
//! Time is linear in the events; nothing recurses.

use std::ops::Range;

/// The width of a line.
const WIDTH: usize = 100;
/// How far one level of indentation goes in.
const INDENT: usize = 2;

/// What the text consists of.
#[derive(Clone, Debug)]
pub(super) enum Event<'t> {
    /// Written as it is; has no newline.
    Text(&'t str),
    /// Written as it is; a name in backquotes.
    Quoted(&'t str),
    /// A space (or nothing), or a newline.
    Line(Space),
    /// A newline, with an empty line before it or not.
    HardLine {
        /// Is there an empty line?
        blank: bool,
    },
    /// To the end of its line; the next text stands on a new one.
    Comment {
        text: &'t str,
        /// Does it stand behind other text?
        trailing: bool,
        /// For one that stands alone: is there an empty line before it?
        blank: bool,
    },
    /// The beginning of a group.
    Open(Breaks),
    /// The end of a group.
    Close,
    /// New lines are indented by one level more.
    Indent,
    /// And by one level less.
    Dedent,
}

/// What a [`Event::Line`] is when it is not a newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    None,
    One,
}

/// Which lines of a group that does not fit become newlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breaks {
    All,
    Fill,
}

/// The sums and places that the decisions need.
struct Measures {
    /// Per event, and one more: the width of all events before it if no line breaks.
    width: Vec<usize>,
    /// Likewise: how many newlines before it cannot be avoided.
    forced: Vec<usize>,
    /// Where a line may break: the first such event at or after each.
    next_break: Vec<usize>,
    /// For [`Event::Open`] its [`Event::Close`]; for [`Event::Line`] the next one of the same
    /// group, or the close of the group.
    partner: Vec<usize>,
}

impl Measures {
    fn new(events: &[Event<'_>]) -> Measures {
        let end = events.len();
        let (mut width, mut forced) = (vec![0; end + 1], vec![0; end + 1]);
        let (mut next_break, mut partner) = (vec![end; end + 1], vec![end; end]);
        // Per open group: its beginning and its last line so far.
        let mut open: Vec<(usize, Option<usize>)> = Vec::new();
        for (at, event) in events.iter().enumerate() {
            let (wide, newline) = match event {
                Event::Text(text) => (text.chars().count(), 0),
                Event::Quoted(text) => (text.chars().count() + 2, 0),
                Event::Line(Space::One) => (1, 0),
                Event::HardLine { .. } | Event::Comment { .. } => (0, 1),
                Event::Line(Space::None) | Event::Open(_) | Event::Close => (0, 0),
                Event::Indent | Event::Dedent => (0, 0),
            };
            width[at + 1] = width[at] + wide;
            forced[at + 1] = forced[at] + newline;
            match event {
                Event::Open(_) => open.push((at, None)),
                Event::Line(_) => {
                    if let Some((_, last)) = open.last_mut()
                        && let Some(last) = last.replace(at)
                    {
                        partner[last] = at;
                    }
                }
                Event::Close => {
                    if let Some((begin, last)) = open.pop() {
                        partner[begin] = at;
                        last.into_iter().for_each(|last| partner[last] = at);
                    }
                }
                Event::Text(_) | Event::Quoted(_) | Event::HardLine { .. } => {}
                Event::Comment { .. } | Event::Indent | Event::Dedent => {}
            }
        }
        for (at, event) in events.iter().enumerate().rev() {
            let breaks =
                matches!(event, Event::Line(_) | Event::HardLine { .. } | Event::Comment { .. });
            next_break[at] = if breaks { at } else { next_break[at + 1] };
        }
        Measures { width, forced, next_break, partner }
    }

    /// Do these events, and what cannot be parted from them, fit behind `column`?
    fn fits(&self, events: Range<usize>, column: usize) -> bool {
        let until = self.next_break[events.end];
        self.forced[events.start] == self.forced[events.end]
            && column + self.width[until] - self.width[events.start] <= WIDTH
    }
}

/// How the lines of an open group are treated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Flat,
    Break(Breaks),
}

/// What stands between the last text and the next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    Nothing,
    Space,
    /// The level is the one where the newline was asked for.
    Newline {
        blank: bool,
        level: usize,
    },
}

struct Writer {
    out: String,
    column: usize,
    level: usize,
    gap: Gap,
    /// Does the current line end in a comment?
    after_comment: bool,
}

impl Writer {
    fn newline(&mut self, blank: bool) {
        let blank = blank || matches!(self.gap, Gap::Newline { blank: true, .. });
        self.gap = Gap::Newline { blank, level: self.level };
    }

    fn text(&mut self, text: &str) {
        let fresh = self.out.is_empty();
        match self.gap {
            Gap::Newline { blank, level } if !fresh => {
                self.out.truncate(self.out.trim_end().len());
                self.out.push_str(if blank { "\n\n" } else { "\n" });
                self.out.extend(std::iter::repeat_n(' ', level * INDENT));
                self.column = level * INDENT;
            }
            Gap::Space if !fresh => {
                self.out.push(' ');
                self.column += 1;
            }
            Gap::Newline { .. } | Gap::Space | Gap::Nothing => {}
        }
        let at_start = fresh || matches!(self.gap, Gap::Newline { .. });
        let text = if at_start { text.trim_start() } else { text };
        self.out.push_str(text);
        self.column += text.chars().count();
        self.gap = Gap::Nothing;
        self.after_comment = false;
    }

    /// The column at which the next text begins.
    fn next_column(&self) -> usize {
        match self.gap {
            Gap::Newline { level, .. } => level * INDENT,
            Gap::Space => self.column + 1,
            Gap::Nothing => self.column,
        }
    }

    fn comment(&mut self, text: &str, trailing: bool, blank: bool) {
        if trailing && !self.after_comment && !self.out.is_empty() {
            self.out.truncate(self.out.trim_end().len());
            self.gap = Gap::Nothing;
            self.text("  ");
        } else {
            self.newline(blank);
        }
        self.text(text);
        self.after_comment = true;
        self.newline(false);
    }
}

/// The text of the events; ends with a newline unless it is empty.
pub(super) fn lay_out(events: &[Event<'_>]) -> String {
    let measures = Measures::new(events);
    let mut writer =
        Writer { out: String::new(), column: 0, level: 0, gap: Gap::Nothing, after_comment: false };
    let mut modes = vec![Mode::Break(Breaks::All)];
    for (at, event) in events.iter().enumerate() {
        let mode = modes.last().copied().unwrap_or(Mode::Flat);
        match event {
            Event::Text(text) => writer.text(text),
            Event::Quoted(text) => {
                writer.text("`");
                writer.text(text);
                writer.text("`");
            }
            Event::Line(space) => {
                let column = writer.next_column();
                let breaks = match mode {
                    Mode::Flat => false,
                    Mode::Break(Breaks::All) => true,
                    Mode::Break(Breaks::Fill) => !measures.fits(at..measures.partner[at], column),
                };
                if breaks {
                    writer.newline(false);
                } else if *space == Space::One && writer.gap == Gap::Nothing {
                    writer.gap = Gap::Space;
                }
            }
            Event::HardLine { blank } => writer.newline(*blank),
            Event::Comment { text, trailing, blank } => writer.comment(text, *trailing, *blank),
            Event::Open(breaks) => {
                let whole = at..measures.partner[at];
                let flat = mode == Mode::Flat || measures.fits(whole, writer.next_column());
                modes.push(if flat { Mode::Flat } else { Mode::Break(*breaks) });
            }
            Event::Close => {
                modes.pop();
            }
            Event::Indent => writer.level += 1,
            Event::Dedent => writer.level = writer.level.saturating_sub(1),
        }
    }
    let mut out = writer.out;
    out.truncate(out.trim_end().len());
    if !out.is_empty() {
        out.push('\n');
    }
    out
}
