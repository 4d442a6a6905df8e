//! The lines of `lines.json`, which the page of the npm package reads too, so that both say the same of a list.

use serde_json::Value;
use treewide_files::list::parse;

#[test]
fn parse_takes_each_line_as_the_table_says() {
    let table: Value = serde_json::from_str(include_str!("lines.json")).unwrap();
    let digest = table["digest"].as_str().unwrap();
    let cases = table["cases"].as_array().unwrap();
    for case in cases {
        let line = case["line"].as_str().unwrap().replace('D', digest);
        let parsed = parse(line.as_bytes(), None);
        if let Some(name) = case["name"].as_str() {
            let entry = parsed.unwrap_or_else(|fault| panic!("{line}: {fault}")).unwrap();
            assert_eq!(String::from_utf8_lossy(&entry.name), name, "{line}");
            assert_eq!(
                treewide::Hash::from_slice(&entry.digest).unwrap().to_hex().as_str(),
                digest
            );
        } else if case["none"] == true {
            assert_eq!(parsed, Ok(None), "{line}");
        } else {
            assert!(case["fault"] == true && parsed.is_err(), "{line}: {parsed:?}");
        }
    }
    assert!(cases.len() >= 30);
}
