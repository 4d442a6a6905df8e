//! The traits of the `digest` crate, which the feature `traits-preview` adds.

use super::blake3;
use crate::{Log, pattern};
use blake3::traits::digest::{
    self, Digest, DynDigest, ExtendableOutput, ExtendableOutputReset, FixedOutput,
    FixedOutputReset, HashMarker, KeyInit, Mac, MacMarker, OutputSizeUser, Reset, Update,
    XofReader, common,
};
use blake3::{Hasher, OutputReader};

pub(super) fn run(log: &mut Log) {
    fn hashes<H: Digest + HashMarker>(input: &[u8]) -> Vec<u8> {
        H::digest(input).to_vec()
    }
    let input = pattern(3000);
    log.see("mod traits", std::any::type_name::<dyn blake3::traits::digest::DynDigest>());
    log.see("use traits::digest", hashes::<Hasher>(&input));
    log.see("impl digest::HashMarker for Hasher", hashes::<Hasher>(b""));
    sizes(log);
    outputs(log, &input);
    resets(log, &input);
    keys(log, &input);

    // As an object, and inside a construction over any hash.
    let mut object: Box<dyn DynDigest> = Box::new(Hasher::new());
    DynDigest::update(&mut *object, &input);
    let mut tag = [0; 32];
    DynDigest::finalize_into_reset(&mut *object, &mut tag).unwrap();
    log.see("use traits::digest", (DynDigest::output_size(&*object), tag));
    let mut hmac = hmac::SimpleHmac::<Hasher>::new_from_slice(&input).unwrap();
    Mac::update(&mut hmac, &input);
    log.see("use traits::digest", hmac.finalize().into_bytes().to_vec());
}

fn sizes(log: &mut Log) {
    let output = <Hasher as OutputSizeUser>::output_size();
    log.see("impl digest::OutputSizeUser for Hasher", output);
    let key = <Hasher as common::KeySizeUser>::key_size();
    log.see("impl common::KeySizeUser for Hasher", key);
    let block = <Hasher as common::BlockSizeUser>::block_size();
    log.see("impl common::BlockSizeUser for Hasher", block);
}

fn outputs(log: &mut Log, input: &[u8]) {
    let mut hasher = Hasher::new();
    Update::update(&mut hasher, input);
    log.see("impl digest::Update for Hasher", Hasher::finalize(&hasher));
    log.see(
        "impl digest::Update for Hasher",
        Hasher::finalize(&Update::chain(Hasher::new(), b"a")),
    );
    let mut fixed = digest::Output::<Hasher>::default();
    FixedOutput::finalize_into(hasher.clone(), &mut fixed);
    log.see("impl digest::FixedOutput for Hasher", fixed.as_slice());
    let mut reader: OutputReader = ExtendableOutput::finalize_xof(hasher);
    let mut output = [0; 100];
    XofReader::read(&mut reader, &mut output);
    log.see("impl digest::ExtendableOutput for Hasher", output);
    log.see(
        "impl digest::XofReader for OutputReader",
        (reader.position(), {
            XofReader::read(&mut reader, &mut output);
            output
        }),
    );
}

fn resets(log: &mut Log, input: &[u8]) {
    let mut hasher = Hasher::new_keyed(&[1; 32]);
    hasher.update(input);
    let mut fixed = digest::Output::<Hasher>::default();
    FixedOutputReset::finalize_into_reset(&mut hasher, &mut fixed);
    log.see(
        "impl digest::FixedOutputReset for Hasher",
        (fixed.as_slice(), Hasher::finalize(&hasher)),
    );
    hasher.update(input);
    let mut output = [0; 100];
    ExtendableOutputReset::finalize_xof_reset(&mut hasher).fill(&mut output);
    log.see(
        "impl digest::ExtendableOutputReset for Hasher",
        (&output[..], Hasher::finalize(&hasher)),
    );
    hasher.update(input);
    Reset::reset(&mut hasher);
    log.see("impl digest::Reset for Hasher", (hasher.count(), Hasher::finalize(&hasher)));
}

fn keys(log: &mut Log, input: &[u8]) {
    fn mac<M: Mac + KeyInit + MacMarker>(key: &[u8], input: &[u8]) -> Option<Vec<u8>> {
        let mac = <M as KeyInit>::new_from_slice(key).ok()?;
        Some(mac.chain_update(input).finalize().into_bytes().to_vec())
    }
    log.see("impl digest::MacMarker for Hasher", mac::<Hasher>(&[2; 32], input));
    for len in [0, 31, 33] {
        log.see("impl digest::KeyInit for Hasher", mac::<Hasher>(&[2; 64][..len], input));
    }
    let hasher: Hasher = KeyInit::new(&[2; 32].into());
    log.see("impl digest::KeyInit for Hasher", Hasher::finalize(&hasher));
    let tag = Hasher::finalize(&hasher);
    log.see("impl digest::MacMarker for Hasher", hasher.verify_slice(tag.as_bytes()).is_ok());
}
