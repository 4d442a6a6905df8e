//! Loop devices, which all programs on a machine share.

use std::fs::File;

/// The turn to attach and detach loop devices, of this test alone until it is dropped, also among other programs of tests.
pub(crate) struct Turn(File);

impl Turn {
    /// Waits for it. An error where files cannot be locked.
    pub(crate) fn wait() -> Result<Self, String> {
        let at = "/tmp/treewide-tests-loop-devices.lock";
        let file = File::options().create(true).append(true).open(at);
        let file = file.map_err(|error| format!("{at}: {error}"))?;
        file.lock().map_err(|error| format!("{at}: {error}"))?;
        Ok(Self(file))
    }
}

impl Drop for Turn {
    /// Not by closing it: children of other tests have it open until they run their programs.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}
