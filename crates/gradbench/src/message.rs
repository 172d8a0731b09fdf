//! Messages of an eval, and how often and how long they ask a function to run.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::failure::{Failure, Outcome};

/// A message: an object with an `id`.
#[derive(Debug)]
pub(crate) struct Message {
    fields: Map<String, Value>,
}

impl Message {
    /// The message of a line.
    pub(crate) fn parse(line: &[u8]) -> Outcome<Message> {
        match serde_json::from_slice(line) {
            Ok(Value::Object(fields)) => Ok(Message { fields }),
            Ok(_) => Err(Failure::Message("a message is a JSON object".to_owned())),
            Err(error) => Err(Failure::Message(format!("the message is not JSON: {error}"))),
        }
    }

    /// Its number, to be repeated by the reply; whatever it is.
    pub(crate) fn id(&self) -> Value {
        self.fields.get("id").cloned().unwrap_or(Value::Null)
    }

    /// What it asks for; unknown kinds are to be answered, too.
    pub(crate) fn kind(&self) -> &str {
        self.fields.get("kind").and_then(Value::as_str).unwrap_or("")
    }

    /// A field with a name in it.
    pub(crate) fn name(&self, field: &str) -> Outcome<&str> {
        match self.fields.get(field) {
            Some(Value::String(name)) => Ok(name),
            Some(_) => Err(Failure::Message(format!("`{field}` of the message is not a string"))),
            None => Err(Failure::Message(format!("the message has no `{field}`"))),
        }
    }

    /// The input of a function.
    pub(crate) fn input(&self) -> Outcome<&Value> {
        let input = self.fields.get("input");
        input.ok_or_else(|| Failure::Message("the message has no `input`".to_owned()))
    }
}

/// How often and how long a function is to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Runs {
    least: u64,
    duration: Duration,
}

impl Runs {
    /// What `min_runs` and `min_seconds` of an input say; once, where they say nothing.
    pub(crate) fn of(input: &Value) -> Outcome<Runs> {
        let number = |field: &str| match input.get(field) {
            None | Some(Value::Null) => Ok(0.0),
            Some(value) => value.as_f64().filter(|x| *x >= 0.0).ok_or_else(|| {
                Failure::Input(format!("`{field}` must be a number that is not negative"))
            }),
        };
        let (runs, seconds) = (number("min_runs")?, number("min_seconds")?);
        let duration = Duration::try_from_secs_f64(seconds)
            .map_err(|_| Failure::Input("`min_seconds` is too long a time".to_owned()))?;
        Ok(Runs { least: runs.ceil() as u64, duration })
    }

    /// Whether so many runs that took so long together are enough.
    pub(crate) fn enough(&self, runs: u64, taken: Duration) -> bool {
        runs >= self.least.max(1) && taken >= self.duration
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn runs_are_those_that_the_input_asks_for() {
        let second = Duration::from_secs(1);
        let once = Runs::of(&json!(3.0)).unwrap();
        assert!(!once.enough(0, second) && once.enough(1, Duration::ZERO));
        let both = Runs::of(&json!({"min_runs": 3, "min_seconds": 0.5})).unwrap();
        assert!(!both.enough(2, second) && !both.enough(3, second / 4) && both.enough(3, second));
        for wrong in [json!(-1), json!("many"), json!([1])] {
            assert!(Runs::of(&json!({"min_runs": wrong})).is_err());
        }
        assert!(Runs::of(&json!({"min_seconds": 1e300})).is_err());
    }

    #[test]
    fn a_message_is_an_object() {
        assert!(Message::parse(b"[1]").is_err() && Message::parse(b"{\"id\": 1").is_err());
        assert!(Message::parse(b"\xff\xfe").is_err());
        let message = Message::parse(br#"{"id": 7, "kind": "define", "module": 3}"#).unwrap();
        assert_eq!((message.id(), message.kind()), (json!(7), "define"));
        assert!(message.name("module").is_err() && message.name("function").is_err());
    }
}
