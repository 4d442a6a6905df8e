// swift-tools-version: 6.0
import PackageDescription

// The C libraries come from outside: `scripts/swift.sh native` builds them, and PKG_CONFIG_PATH says where they are. So there
// is no unsafe flag here, which would keep others from depending on this package.
let package = Package(
    name: "treewide",
    platforms: [.macOS(.v13)],
    products: [
        .library(name: "Treewide", targets: ["Treewide"]),
        .library(name: "TreewideGPU", targets: ["TreewideGPU"]),
        .executable(name: "treewide-swift-bench", targets: ["treewide-swift-bench"]),
    ],
    targets: [
        .systemLibrary(name: "CTreewide", pkgConfig: "libtreewide"),
        .systemLibrary(name: "CTreewideGPU", pkgConfig: "libtreewide_gpu"),
        .target(name: "Treewide", dependencies: ["CTreewide"]),
        .target(name: "TreewideGPU", dependencies: ["Treewide", "CTreewideGPU"]),
        .executableTarget(
            name: "treewide-swift-bench", dependencies: ["CTreewide", "Treewide", "TreewideGPU"]),
        .testTarget(name: "TreewideTests", dependencies: ["Treewide", "CTreewide"]),
        .testTarget(name: "TreewideGPUTests", dependencies: ["TreewideGPU"]),
    ]
)
