//! The WGSL of each stage, and its pipeline.

use super::now;
use crate::driver::TILE;
use crate::error::{Error, ErrorKind};
use ::wgpu::{
    ComputePipeline, ComputePipelineDescriptor, Device, ErrorFilter, PipelineCompilationOptions,
    ShaderModuleDescriptor, ShaderRuntimeChecks, ShaderSource,
};

const COMPRESS: &str = include_str!("../../../kernels/shared/compress.wgsl");
const PARAMS: &str = include_str!("../../../kernels/shared/params.wgsl");
const CHUNK: &str = include_str!("../../../kernels/shared/chunk.wgsl");
const REDUCE: &str = include_str!("../../../kernels/shared/reduce.wgsl");

/// Each stage: its name, and the files that it is put together from.
const STAGES: [(&str, &[&str]); 4] = [
    ("tiles", &[COMPRESS, PARAMS, CHUNK, REDUCE, include_str!("../../../kernels/wgsl/tiles.wgsl")]),
    ("parents", &[COMPRESS, PARAMS, REDUCE, include_str!("../../../kernels/wgsl/parents.wgsl")]),
    ("blobs", &[COMPRESS, PARAMS, CHUNK, include_str!("../../../kernels/wgsl/blobs.wgsl")]),
    ("xof", &[COMPRESS, PARAMS, include_str!("../../../kernels/wgsl/xof.wgsl")]),
];

/// The name and the whole source of each stage.
pub(super) fn sources() -> impl Iterator<Item = (&'static str, String)> {
    STAGES.iter().map(|(name, files)| (*name, files.join("\n")))
}

/// What the kernels leave open; the same for all of them.
const CONSTANTS: [(&str, f64); 1] = [("TILE", TILE as f64)];

#[derive(Debug)]
pub(super) struct Pipelines {
    pub(super) tiles: ComputePipeline,
    pub(super) parents: ComputePipeline,
    pub(super) blobs: ComputePipeline,
    pub(super) xof: ComputePipeline,
}

impl Pipelines {
    pub(super) fn new(device: &Device) -> Result<Self, Error> {
        let mut pipelines = sources().map(|(name, source)| pipeline(device, name, source));
        let mut next = || pipelines.next().expect("four stages");
        Ok(Self { tiles: next()?, parents: next()?, blobs: next()?, xof: next()? })
    }
}

fn pipeline(device: &Device, name: &str, source: String) -> Result<ComputePipeline, Error> {
    let scope = device.push_error_scope(ErrorFilter::Validation);
    let internal = device.push_error_scope(ErrorFilter::Internal);
    let descriptor =
        ShaderModuleDescriptor { label: Some(name), source: ShaderSource::Wgsl(source.into()) };
    // SAFETY: these kernels read and write only where the host's plan says, which keeps to the
    // bindings, and the loops end; both are tested with the twins, which do check.
    let module = unsafe {
        device.create_shader_module_trusted(descriptor, ShaderRuntimeChecks::unchecked())
    };
    let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
        label: Some(name),
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: PipelineCompilationOptions {
            // Every thread writes its own part before anything is read.
            zero_initialize_workgroup_memory: false,
            constants: &CONSTANTS,
        },
        cache: None,
    });
    match [now(internal.pop()), now(scope.pop())].into_iter().flatten().next() {
        Some(error) => {
            Err(Error::new(ErrorKind::Unusable, format_args!("the kernel {name}: {error}")))
        }
        None => Ok(pipeline),
    }
}

#[cfg(all(test, feature = "translate"))]
mod tests {
    use super::*;
    use naga::back::pipeline_constants::process_overrides;
    use naga::back::{hlsl, msl, spv};
    use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

    fn each(mut test: impl FnMut(&str, &naga::Module, &ModuleInfo)) {
        for (name, source) in sources() {
            let module = naga::front::wgsl::parse_str(&source)
                .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(&source)));
            let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
            let info = validator.validate(&module).expect(name);
            let constants = CONSTANTS.map(|(name, value)| (name.to_owned(), value)).into();
            let (module, info) = process_overrides(&module, &info, None, &constants).expect(name);
            test(name, &module, &info);
        }
    }

    /// Without any optional capability.
    #[test]
    fn every_stage_is_valid_and_becomes_spir_v() {
        each(|name, module, info| {
            let words = spv::write_vec(module, info, &spv::Options::default(), None).expect(name);
            assert_eq!(words[0], 0x0723_0203, "{name}");
        });
    }

    #[test]
    fn every_stage_becomes_metal() {
        each(|name, module, info| {
            let options = msl::Options { fake_missing_bindings: true, ..Default::default() };
            let pipeline = msl::PipelineOptions::default();
            let (text, _) = msl::write_string(module, info, &options, &pipeline).expect(name);
            assert!(text.contains("kernel void"), "{name}");
        });
    }

    #[test]
    fn every_stage_becomes_hlsl() {
        each(|name, module, info| {
            let mut text = String::new();
            let options = hlsl::Options { fake_missing_bindings: true, ..Default::default() };
            let pipeline = hlsl::PipelineOptions::default();
            let mut writer = hlsl::Writer::new(&mut text, &options, &pipeline);
            writer.write(module, info, None).expect(name);
            assert!(text.contains("numthreads(128, 1, 1)"), "{name}");
        });
    }
}
