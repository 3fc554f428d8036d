"""Provider headers in the shapes that the history has, in our own words."""

from __future__ import annotations

OLD_PATH = "mlir/tools/mlir-miopen-lib/mlir-miopen-lib.h"
MIIR_PATH = "mlir/tools/mlir-miopen-lib/Miir.h"
NEW_PATH = "mlir/tools/rocmlir-lib/Miir.h"
CPP_PATH = "mlir/tools/mlir-miopen-lib/mlir-miopen-lib.hpp"
DIALECT_PATH = "mlir/include/mlir-c/Dialect/MIGraphX.h"

# The oldest: C++, no macro, no guard.
NO_MACRO = """\
#include <cstddef>
namespace mlir {
// What the other calls work on.
typedef void *MlirHandle;
extern "C" MlirHandle CreateMlirHandle(const char *options);
extern "C" void MlirLowerCpp(MlirHandle handle);
extern "C" void MlirGenIgemmBin(MlirHandle handle, char **buffer, size_t *size);
extern "C" void DestroyMlirHandle(MlirHandle handle);
} // namespace mlir
"""

VERSION_0 = """\
#ifndef MLIRMIOPEN_LIB_H
#define MLIRMIOPEN_LIB_H
#include <stddef.h>
#define MLIRMIOPEN_VERSION_FLAT 0
enum MlirmiopenStatus { MlirmiopenSuccess = 0, MlirmiopenInvalidParam = -1, MlirmiopenBuildFailure = -3 };
typedef enum MlirmiopenStatus MlirmiopenStatus;
typedef void *MlirmiopenHandle;
extern "C" MlirmiopenHandle mlirmiopenCreateHandle(const char *options);
extern "C" MlirmiopenStatus mlirmiopenGetExecutionDims(MlirmiopenHandle handle, size_t *global, size_t *local);
#endif
"""

_MIIR = """\
#ifndef MLIR_C_MIIR_H
#define MLIR_C_MIIR_H

#include <stddef.h>
#include <stdint.h>
{include}
{comment}
#define MIIR_VERSION_FLAT {number}

enum MiirStatus {{ MIIR_SUCCESS = 0, MIIR_INVALID_PARAM, MIIR_INVALID_MODULE, MIIR_BUILD_FAILURE }};
typedef enum MiirStatus MiirStatus;
typedef void *MiirHandle;

/* One tensor, as a kernel is given it. #define MIIR_VERSION_FLAT 99 */
struct StridedMemRef5D {{
  void *basePtr;
  void *data;
  int32_t offset;
  int32_t sizes[5];
  int32_t strides[5];
}};

extern "C" MiirHandle miirCreateHandle(const char *options);
{functions}
extern "C" int miirGetKernelCount(MiirHandle handle);
extern "C" MiirStatus miirLowerTuningParams(MiirHandle handle);
extern "C" MiirStatus miirLowerBin(MiirHandle handle);
extern "C" MiirStatus miirBufferGet(MiirHandle handle, char *buffer,
                                    size_t *size);
extern "C" MiirStatus miirGetExecutionDims(MiirHandle handle, size_t *global_size,
                                           size_t *local_size);
extern "C" MiirStatus miirDestroyHandle(MiirHandle handle);
#endif // MLIR_C_MIIR_H
"""

_CPP_BACK_END = """\
extern "C" MiirStatus miirLowerCpp(MiirHandle handle);
extern "C" const char *miirGenIgemmSource(MiirHandle handle);
extern "C" const char *miirGenIgemmHeader(MiirHandle handle);
extern "C" const char *miirGenIgemmCflags(MiirHandle handle);"""
_MODULE = 'extern "C" MiirHandle miirCreateHandleWithModule(MlirModule module,\n    const char *arch);'
_WORKSPACE = 'extern "C" int miirGetWorkspaceSize(MiirHandle handle);'


def miir(number: int, functions: str = "", include: str = "", comment: str = "") -> str:
    """Return a header of the Miir.h kind."""
    return _MIIR.format(number=number, functions=functions, include=include, comment=comment)


VERSION_5A = miir(5, _CPP_BACK_END)
VERSION_5B = miir(5, _MODULE, include="#include <mlir-c/IR.h>")
VERSION_5C = miir(5, f"{_MODULE}\n{_WORKSPACE}", include="#include <mlir-c/IR.h>")
VERSION_6 = miir(6, _WORKSPACE, comment="// 6: a kernel takes plain pointers.")

_DIALECT = """\
#ifndef MLIR_C_DIALECT_MIGRAPHX_H
#define MLIR_C_DIALECT_MIGRAPHX_H
#include "mlir-c/IR.h"
#ifdef __cplusplus
extern "C" {{
#endif
{number}
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(MIGraphX, migraphx);
MLIR_CAPI_EXPORTED void mlirGetKernelAttrs(MlirModule module, uint32_t *attrs);
MLIR_CAPI_EXPORTED bool mlirGetBinary(MlirModule module, {size} *size,
                                      char *bin);
{functions}
#ifdef __cplusplus
}}
#endif
#endif
"""


def dialect(number: int | None, size: str = "int", functions: str = "") -> str:
    """Return a header of the MIGraphX dialect's kind; without a number it has no macro."""
    macro = f"#define MLIR_MIGRAPHX_DIALECT_API_VERSION {number}" if number is not None else ""
    return _DIALECT.format(number=macro, size=size, functions=functions)
