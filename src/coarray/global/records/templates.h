// templates: templates and node arrays as the directives name them (XcalableMP 1.4, sections 4.3 and 4.4):
// which nodes have which part. A node array serves as a template, too: one subscript on each node, from 0.
//
// What a record describes is found once and shared by all records that say the same; it lives as long as the
// program, so that its address can stand in keys.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "coarray/index/distribution.h"
#include "coarray/local/fail.h"
#include "coarray/local/phase.h"
#include "coarray/sync/teams.h"
#include "tasuki/compiler/global_view.h"

namespace tasuki::coarray {

// Dimension 0 of both templates and node arrays varies fastest.
struct Template {
  std::vector<Distribution> dimension;
  std::vector<int> node_dimension;  // of each dimension; -1: not distributed
  bool everywhere = false;  // not distributed: every node has all of it, and there are no node dimensions

  std::vector<int> sizes;               // of the node array
  std::vector<int> template_dimension;  // of each node dimension
  std::vector<int> ranks;               // in MPI_COMM_WORLD
  std::vector<int> own;                 // coordinates of this node
  bool member = false;                  // this node is in the node array

  int own_coordinate(size_t d) const {
    const int n = node_dimension[d];
    return n < 0 ? 0 : own[static_cast<size_t>(n)];
  }
  // The ranks of all nodes with one of these coordinates in each node dimension, in the order of nodes.
  std::vector<int> ranks_of(const std::vector<std::vector<int>>& coordinates) const;
  int rank_of(const std::vector<int>& coordinates) const;
};

class Templates {
 public:
  Templates(const Phase* phase, Teams* teams) : phase_(*phase), teams_(*teams) {}

  // Those of file scope; start() comes when there are images.
  void add(tasuki_xmp_template* record) { records_.push_back(record); }
  void start();

  // Of a template or node array record. Fails if the template is not fixed yet.
  const Template& of(const void* record, Where where);
  void define(tasuki_xmp_template* record, Where where);
  void fix(tasuki_xmp_template* record, const tasuki_xmp_template_dimension* shape, Where where);

  // The nodes that an on clause names, as ranks in their order (section 4.4.2, "template reference"). `*`
  // stands for what this node has: nothing if it is not in the node array. Fails if the clause names what is
  // not there.
  std::vector<int> nodes_on(const tasuki_xmp_on& on, Where where);
  // Is this node among them? Each iteration of some loops asks: nothing is allocated.
  bool executes(const tasuki_xmp_on& on, Where where);

 private:
  const Template& of_nodes(const tasuki_xmp_nodes& record);
  const Template& make(const tasuki_xmp_template& record, Where where);

  const Phase& phase_;
  Teams& teams_;
  std::vector<tasuki_xmp_template*> records_;
  std::map<std::vector<int64_t>, std::unique_ptr<Template>> known_;
  std::map<const void*, std::unique_ptr<Template>> node_arrays_;
};

const char* name_of_space(const void* record);

}  // namespace tasuki::coarray
