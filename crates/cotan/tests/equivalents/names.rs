//! The names that horde-ad 0.4 exports to its users, module by module.

/// All of them.
pub fn exported() -> Vec<String> {
    GROUPS.iter().flat_map(|names| names.split_whitespace()).map(str::to_owned).collect()
}

const GROUPS: &[&str] = &[
    // The operations on arrays.
    "rshape rlength rsize rwidth sshape slength ssize swidth xshape xlength xsize xwidth \
     tsize tftk kconcrete rconcrete rscalar rrepl ringestData rfromListLinear sconcrete \
     sscalar srepl singestData sfromListLinear xconcrete xscalar xrepl xingestData \
     xfromListLinear rfromList rfromVector rfromVectorN rfromVectorLinear runravelToList \
     runravelToListN rtoListLinear sfromList sfromVector sfromVectorN sfromVectorLinear \
     sunravelToList sunravelToListN stoListLinear xfromList xfromVector xfromVectorN \
     xfromVectorLinear xunravelToList xunravelToListN xtoListLinear tunit tlet tletPrimal \
     tletPlain ifH minH maxH tpair tproject1 tproject2 rsum rsumN rsum0 rdot0 rdot1In \
     rmatvecmul rmatmul2 rreplicate rreplicateN rreplicate0N ssum ssumN ssum0 sdot0 sdot1In \
     smatvecmul smatmul2 sreplicate sreplicateN sreplicate0N xsum xsumN xsum0 xdot0 xdot1In \
     xmatvecmul xmatmul2 xreplicate xreplicateN xreplicate0N rindex ! rindex0 roneHot \
     rscatter rscatter1 rgather rgather1 sindex !$ sindex0 soneHot sscatter sscatter1 sgather \
     sgather1 xindex xindex0 xoneHot xscatter xscatter1 xgather xgather1 rtr rtranspose \
     rflatten rreshape str stranspose sflatten sreshape xtr xtranspose xflatten xreshape \
     kfloor kfromIntegral kcast kargMin kargMax rfloor rfromIntegral rcast rargMin rargMax \
     riota sfloor sfromIntegral scast sargMin sargMax siota xfloor xfromIntegral xcast \
     xargMin xargMax xiota rappend rconcat rslice runcons rreverse sappend sslice suncons \
     sreverse xappend xconcat xslice xuncons xreverse kbuild kbuild1 rbuild rbuild1 rmap \
     rmap1 rmap0N rzipWith rzipWith1 rzipWith0N rzipWith3 rzipWith31 rzipWith30N rzipWith4 \
     rzipWith41 rzipWith40N sbuild sbuild1 smap smap1 smap0N szipWith szipWith1 szipWith0N \
     szipWith3 szipWith31 szipWith30N szipWith4 szipWith41 szipWith40N xbuild xbuild1 rfold \
     rscan sfold sscan xfold xscan tfold tscan tmapAccumR tmapAccumL kgrad rvjp rjvp svjp \
     sjvp kprimalPart kdualPart kplainPart kfromPrimal kfromDual kfromPlain kScale \
     rprimalPart rdualPart rfromPrimal rfromDual rScale sprimalPart sdualPart sfromPrimal \
     sfromDual sScale xprimalPart xdualPart xfromPrimal xfromDual xScale tplainPart \
     tfromPlain tprimalPart tfromPrimal treplTarget tdefTarget taddTarget tmultTarget \
     tsum0Target tdot0Target",
    // Conversions and nesting.
    "tconvert kfromR kfromS kfromX rfromK rfromS rfromX sfromK sfromR sfromX xfromK xfromR \
     xfromS rzip runzip szip sunzip xzip xunzip rnest rnestS rnestX snestR snest snestX \
     xnestR xnestS xnest runNest runNestS runNestX sunNestR sunNest sunNestX xunNestR \
     xunNestS xunNest tpairConv tunpairConv nestTarget nestTargetK unNestTarget unNestTargetK",
    // Differentiation.
    "grad grad2 vjp vjp2 gradArtifact vjpArtifact gradInterpretArtifact vjpInterpretArtifact \
     jvp jvp2 jvpArtifact jvpInterpretArtifact cgrad cgrad2 cvjp cvjp2 cjvp cjvp2 \
     IncomingCotangentHandling revArtifactAdapt revArtifactAdaptDt revArtifactDelta \
     revProduceArtifactWithoutInterpretation revInterpretArtifact fwdArtifactAdapt \
     fwdArtifactDelta fwdInterpretArtifact",
    // Simplification and printing.
    "simplifyArtifactRev simplifyArtifactFwd simplifyUserCode simplifyInlineContract \
     printAstVarName printAstSimple printAstPretty printAstPrettyButNested \
     printArtifactSimple printArtifactPretty printArtifactPrimalSimple \
     printArtifactPrimalPretty",
    // User data.
    "AdaptableTarget TermValue DualNumberValue ForgetShape RandomValue stkOfIxR",
    // The library.
    "assumeEquality rminimum rmaximum relu reluLeaky logistic rsquare squareR \
     squaredDifference lossCrossEntropyV lossSoftMaxCrossEntropyR rlogsumexp maxPool1 \
     softMax1 conv2dPreserving conv2dShrinking conv2dPadded conv2dCustomPadded slicez \
     maxPool2dUnpadded xfromIndex0 sminimum smaximum reluS reluLeakyS logisticS squareS \
     squaredDifferenceS lossCrossEntropyVS lossSoftMaxCrossEntropyS maxPool1S softMax1S \
     conv2dPreservingS conv2dShrinkingS conv2dPaddedS slicezS maxPool2dUnpaddedS",
    // Optimisers.
    "sgd sgdSTK updateWithGradient sgdAdam sgdAdamArgs updateWithGradientAdam StateAdam \
     initialStateAdam defaultArgsAdam ArgsAdam",
    // Methods of classes that have no function of the same name.
    "toShare tunshare tappend tD tshare tunpair tunravelToListShare kcond scond tcond \
     tconcrete tsfromIxR tbuild1 tmapAccumRDer tmapAccumLDer tapply tlambda tgrad tvjp tjvp \
     tdualPart tfromDual tScale tsum treplicate treverse xmcast",
    // Classes of numbers, order and truth.
    "+ - * negate abs signum fromInteger quotH remH / recip fromRational exp log sqrt ** \
     logBase sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh atan2H pi ==. /=. <. \
     <=. >. >=. true false notB &&* ||*",
];
