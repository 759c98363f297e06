// Products of Eigen for the bench, compiled when it compares with other libraries.

#include <Eigen/SparseCore>

namespace {

template <typename T>
using Matrix = Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, int>>;
template <typename T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// y += A*x. Rows are shared out among Eigen's threads where the matrix has more than 20,000 entries.
template <typename T>
void multiply_add(int n_rows, int n_cols, int nnz, const int* row_ptr, const int* cols, const T* vals, const T* x, T* y) {
    const Matrix<T> a(n_rows, n_cols, nnz, row_ptr, cols, vals);
    const Eigen::Map<const Vector<T>> from(x, n_cols);
    Eigen::Map<Vector<T>> to(y, n_rows);
    to.noalias() += a * from;
}

// y += A^T*x.
template <typename T>
void add_transposed(int n_rows, int n_cols, int nnz, const int* row_ptr, const int* cols, const T* vals, const T* x, T* y) {
    const Matrix<T> a(n_rows, n_cols, nnz, row_ptr, cols, vals);
    const Eigen::Map<const Vector<T>> from(x, n_rows);
    Eigen::Map<Vector<T>> to(y, n_cols);
    to.noalias() += a.transpose() * from;
}

}  // namespace

extern "C" {

void spmv_eigen_f32(int n_rows, int n_cols, int nnz, const int* row_ptr, const int* cols, const float* vals,
                    const float* x, float* y) noexcept {
    multiply_add(n_rows, n_cols, nnz, row_ptr, cols, vals, x, y);
}

void spmv_eigen_f64(int n_rows, int n_cols, int nnz, const int* row_ptr, const int* cols, const double* vals,
                    const double* x, double* y) noexcept {
    multiply_add(n_rows, n_cols, nnz, row_ptr, cols, vals, x, y);
}

void spmv_eigen_transposed_f32(int n_rows, int n_cols, int nnz, const int* row_ptr, const int* cols, const float* vals,
                               const float* x, float* y) noexcept {
    add_transposed(n_rows, n_cols, nnz, row_ptr, cols, vals, x, y);
}

void spmv_eigen_transposed_f64(int n_rows, int n_cols, int nnz, const int* row_ptr, const int* cols, const double* vals,
                               const double* x, double* y) noexcept {
    add_transposed(n_rows, n_cols, nnz, row_ptr, cols, vals, x, y);
}

// Sets the number of threads, returns what Eigen takes: 1 without OpenMP.
int spmv_eigen_threads(int n) noexcept {
    Eigen::setNbThreads(n);
    return Eigen::nbThreads();
}

// 30400 is 3.4.0.
int spmv_eigen_version() noexcept {
    return EIGEN_WORLD_VERSION * 10000 + EIGEN_MAJOR_VERSION * 100 + EIGEN_MINOR_VERSION;
}

}
