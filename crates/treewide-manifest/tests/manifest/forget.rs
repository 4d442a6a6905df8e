//! Forgetting a part of the past.

use crate::common::{AllIsOld, Tree};
use std::fs;
use treewide_manifest::machine::{Forget, Update};
use treewide_manifest::{history, history_of, index_path, open};

#[test]
fn past_is_forgotten_up_to_the_section_that_the_index_names() {
    let tree = Tree::new(&[("a", "one")]);
    tree.snapshot();
    let (list, index) = (tree.list(), index_path(&tree.list()));
    let update = |update: Update| tree.update_with(update, Box::new(AllIsOld));
    for content in ["number two", "three"] {
        tree.write("a", content);
        update(Update::new());
    }
    let contents = || history_of(&list, b"a").unwrap().len();
    assert_eq!((history(&list).unwrap().len(), contents()), (2, 3));
    // Nothing is as old as that.
    update(Update::new().forget(Forget::parse("1y").unwrap()));
    assert_eq!(contents(), 3);
    let pair = [&list, &index].map(|it| (it, fs::read(it).unwrap()));
    update(Update::new().forget(Forget::All));
    let runs = history(&list).unwrap();
    assert_eq!((runs.len(), runs[0].gap.as_deref(), contents()), (1, Some("forgotten"), 1));
    let back = format!("{}@-1", list.display());
    assert!(open(back.as_ref()).unwrap_err().to_string().contains("nothing before that is known"));
    // As if that run had been killed before the new pair appeared.
    pair.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    tree.write("a", "the fourth");
    for forget in [false, true, true] {
        let run = Update::new();
        update(if forget { run.forget(Forget::All) } else { run });
        assert!(tree.verify().report.past_damage.is_none());
        assert_eq!(contents(), if forget { 1 } else { 2 });
    }
}
