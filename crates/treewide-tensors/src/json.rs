//! JSON in which no object has a key twice: readers that take the first and readers that take the last would load
//! different tensors.

use crate::error::{ErrorKind, fault, short};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;

/// The longest header that the package safetensors loads, and the longest index that is read here.
pub(crate) const LONGEST: u64 = 100_000_000;

/// The keys and values of an object, in their order. `what` names the text in messages.
pub(crate) fn object(text: &[u8], what: &str) -> Result<Vec<(String, Value)>, ErrorKind> {
    let text = str::from_utf8(text)
        .map_err(|error| fault(format!("{what} is not JSON: it is not UTF-8: {error}")))?;
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
    let is_other =
        |it: &serde_json::Error| it.is_data() && !text.trim_start_matches(blank).starts_with('{');
    serde_json::from_str::<Object>(text).map(|Object(pairs)| pairs).map_err(|error| {
        fault(match &error {
            error if is_other(error) => format!("{what} is not an object of JSON"),
            error if error.is_data() => format!("{what} {error}"),
            error => format!("{what} is not JSON: {error}{}", at(text, error)),
        })
    })
}

/// The text where it cannot be understood.
fn at(text: &str, error: &serde_json::Error) -> String {
    let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    let rest = line.get(error.column().saturating_sub(1)..).unwrap_or_default();
    let near: String = rest.chars().take(20).collect();
    if near.is_empty() { near } else { format!(", before {:?}", short(&near)) }
}

/// An object whose keys keep their order.
struct Object(Vec<(String, Value)>);

/// Any value.
struct Strict(Value);

fn pairs<'de, A: MapAccess<'de>>(mut from: A) -> Result<Vec<(String, Value)>, A::Error> {
    let (mut pairs, mut keys) = (Vec::new(), HashSet::new());
    while let Some((key, Strict(value))) = from.next_entry::<String, Strict>()? {
        if !keys.insert(key.clone()) {
            let key = short(&key);
            return Err(A::Error::custom(format!(
                "has '{key}' twice, so it is not clear which one counts"
            )));
        }
        pairs.push((key, value));
    }
    Ok(pairs)
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Object;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, from: A) -> Result<Object, A::Error> {
                pairs(from).map(Object)
            }
        }
        from.deserialize_map(Keys)
    }
}

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Strict;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Strict, E> {
        Ok(Strict(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Strict, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = from.next_element()? {
            values.push(value);
        }
        Ok(Strict(Value::Array(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, from: A) -> Result<Strict, A::Error> {
        Ok(Strict(Value::Object(pairs(from)?.into_iter().collect())))
    }
}
