
/* Where mpi.h was included before this file: a communicator of MPI as a heal_cluster. A failure on a rank is printed,
   and ends all ranks by MPI_Abort. */
#if defined(MPI_VERSION) && !defined(HEAL_MPI)
#define HEAL_MPI
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MPI counts in an int: what is longer goes in pieces. What is empty is not sent. */
static inline int32_t heal_mpi_move(MPI_Comm comm_, const char *send_, int64_t bytes_, int32_t to_, char *receive_,
    int64_t length_, int32_t from_) {
  const int64_t most_ = 1 << 30;
  int got_;
  MPI_Status status_;
  for (;;) {
    int out_ = to_ >= 0 && bytes_ > 0, in_ = from_ >= 0 && length_ > 0;
    int n_ = (int)(bytes_ < most_ ? bytes_ : most_), m_ = (int)(length_ < most_ ? length_ : most_), code_ = 0;
    if (out_ && in_)
      code_ = MPI_Sendrecv((void *)send_, n_, MPI_BYTE, to_, 1, receive_, m_, MPI_BYTE, from_, 1, comm_, &status_);
    else if (out_)
      code_ = MPI_Send((void *)send_, n_, MPI_BYTE, to_, 1, comm_);
    else if (in_)
      code_ = MPI_Recv(receive_, m_, MPI_BYTE, from_, 1, comm_, &status_);
    else
      return 0;
    if (code_ != MPI_SUCCESS) return code_;
    if (in_) {
      if (MPI_Get_count(&status_, MPI_BYTE, &got_) != MPI_SUCCESS || got_ != m_) return MPI_ERR_TRUNCATE;
      receive_ += m_;
      length_ -= m_;
    }
    if (out_) {
      send_ += n_;
      bytes_ -= n_;
    }
  }
}

static inline int32_t heal_mpi_all_to_all(void *context_, const void *send_, const int64_t *to_, void *receive_,
    const int64_t *from_) {
  MPI_Comm comm_ = *(MPI_Comm *)context_;
  int rank_, size_, k_, i_;
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  for (k_ = 0; k_ < size_; k_++) {
    int there_ = (rank_ + k_) % size_, here_ = (rank_ + size_ - k_) % size_;
    const char *out_ = (const char *)send_;
    char *in_ = (char *)receive_;
    int32_t code_ = 0;
    for (i_ = 0; i_ < there_; i_++) out_ += to_[i_];
    for (i_ = 0; i_ < here_; i_++) in_ += from_[i_];
    if (k_ == 0)
      memcpy(in_, out_, (size_t)to_[rank_]);
    else if ((code_ = heal_mpi_move(comm_, out_, to_[there_], there_, in_, from_[here_], here_)) != 0)
      return code_;
  }
  return 0;
}

static inline int32_t heal_mpi_all_gather(void *context_, void *all_, const int64_t *counts_) {
  MPI_Comm comm_ = *(MPI_Comm *)context_;
  int rank_, size_, k_, i_, *n_, code_;
  int64_t sum_ = 0;
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  for (i_ = 0; i_ < size_; i_++) sum_ += counts_[i_];
  if (sum_ <= 1 << 30) {
    if ((n_ = (int *)malloc(2 * (size_t)size_ * sizeof(int))) == NULL) return MPI_ERR_NO_MEM;
    for (sum_ = 0, i_ = 0; i_ < size_; i_++) {
      n_[i_] = (int)counts_[i_];
      n_[size_ + i_] = (int)sum_;
      sum_ += counts_[i_];
    }
    code_ = MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, all_, n_, n_ + size_, MPI_BYTE, comm_);
    free(n_);
    return code_ == MPI_SUCCESS ? 0 : code_;
  }
  for (k_ = 1; k_ < size_; k_++) {
    int there_ = (rank_ + k_) % size_, here_ = (rank_ + size_ - k_) % size_;
    char *own_ = (char *)all_, *in_ = (char *)all_;
    for (i_ = 0; i_ < rank_; i_++) own_ += counts_[i_];
    for (i_ = 0; i_ < here_; i_++) in_ += counts_[i_];
    if ((code_ = heal_mpi_move(comm_, own_, counts_[rank_], there_, in_, counts_[here_], here_)) != 0) return code_;
  }
  return 0;
}

static inline int32_t heal_mpi_send_receive(void *context_, const void *send_, int64_t bytes_, int32_t to_,
    void *receive_, int64_t length_, int32_t from_) {
  return heal_mpi_move(*(MPI_Comm *)context_, (const char *)send_, bytes_, to_, (char *)receive_, length_, from_);
}

static inline void heal_mpi_abort(void *context_, int32_t code_, const char *message_) {
  MPI_Comm comm_ = *(MPI_Comm *)context_;
  int rank_ = -1;
  MPI_Comm_rank(comm_, &rank_);
  fprintf(stderr, "rank %d: %s\n", rank_, message_);
  fflush(NULL);
  MPI_Abort(comm_, code_);
}
#endif
#ifdef MPI_VERSION
/* Every rank of comm_ calls it, once, before functions whose tensors are sharded; MPI_Init_thread was called before,
   and these functions are called by one thread at a time. The communicator is duplicated. */
static inline int32_t heal_set_mpi(MPI_Comm comm_) {
  static MPI_Comm own_;
  heal_cluster cluster_;
  int rank_, size_;
  if (MPI_Comm_dup(comm_, &own_) != MPI_SUCCESS || MPI_Comm_set_errhandler(own_, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
      MPI_Comm_rank(own_, &rank_) != MPI_SUCCESS || MPI_Comm_size(own_, &size_) != MPI_SUCCESS)
    return HEAL_RANKS;
  cluster_.context = &own_;
  cluster_.rank = rank_;
  cluster_.size = size_;
  cluster_.all_gather = heal_mpi_all_gather;
  cluster_.all_to_all = heal_mpi_all_to_all;
  cluster_.send_receive = heal_mpi_send_receive;
  cluster_.abort = heal_mpi_abort;
  return heal_set_cluster(&cluster_);
}
#endif
